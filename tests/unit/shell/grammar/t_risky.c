/* SPDX-License-Identifier: MIT */
#include "shell/grammar/risky.h"

#include "t.h"

static void yes(const char *text)
{
    if (!risky_command(str_of(text)))
        T_FAIL("not found to be risky: %s", text);
}

static void no(const char *text)
{
    const char *why = risky_command(str_of(text));
    if (why)
        T_FAIL("risky for \"%s\": %s", why, text);
}

TEST(what_loses_files)
{
    static const char *const texts[] = {"rm x",
                                        "rm -rf node_modules .git",
                                        "cd a && rm x",
                                        "sudo rm x",
                                        "/bin/rm x",
                                        "FOO=1 rm x",
                                        "true; mv a b",
                                        "ls | xargs rm",
                                        "git reset --hard",
                                        "git -C /x checkout .",
                                        "git clean -fdx",
                                        "git stash",
                                        "git rebase main",
                                        "sed -i s/a/b/ f",
                                        "sed -ni s/a/b/p f",
                                        "sed --in-place s/a/b/ f",
                                        "perl -pi -e 1 f",
                                        "echo x > f",
                                        "echo x >f",
                                        "echo x 1>f",
                                        "find . -delete",
                                        "find . -exec rm {} +",
                                        "truncate -s 0 f",
                                        "dd if=/dev/zero of=f",
                                        "tar -xf a.tar",
                                        "npm install",
                                        "pip install x",
                                        "make clean",
                                        "echo $(rm x)",
                                        "echo \"$(rm x)\"",
                                        "echo `rm x`",
                                        "if true; then rm x; fi",
                                        "(rm x)",
                                        "r\\m x",
                                        "'rm' x",
                                        "echo a\nrm x",
                                        "cp a b",
                                        "bash -lc 'rm x'",
                                        "eval \"$x\"",
                                        "apt-get remove x"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        yes(texts[i]);
}

TEST(what_does_not)
{
    static const char *const texts[] = {"",
                                        "ls",
                                        "echo rm",
                                        "echo 'rm x; rm y'",
                                        "cat f | grep rm",
                                        "git status",
                                        "git log --oneline",
                                        "git diff",
                                        "sed s/a/b/ f",
                                        "sed -n 1p f",
                                        "ls >/dev/null",
                                        "ls 2>&1",
                                        "ls >>log",
                                        "find . -name x",
                                        "tar -tf a.tar",
                                        "npm test",
                                        "make",
                                        "python3 -c 'print(1)'",
                                        "grep -r rm .",
                                        "echo \"rm x\"",
                                        "bash run.sh",
                                        "firm x"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        no(texts[i]);
}

TEST(any_bytes)
{
    char text[3000];
    unsigned x = 1;
    for (int k = 0; k < 2000; k++) {
        for (size_t i = 0; i < sizeof(text); i++)
            text[i] =
                "rm -i\\'\"`$();|&><\n\t=/{x"[(x = x * 1103515245 + 12345) >> 16 & 15];
        risky_command(str_n(text, (size_t)k));
    }
}

T_MAIN
