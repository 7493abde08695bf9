# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# PATH for tests: a folder with a python3 that is not the distribution's (pyenv, conda, a
# virtual environment) goes to the end. The modules that tests use are the distribution's,
# and what stands for python3 in such a folder may be a slow script.
if [ -x /usr/bin/python3 ]; then
    path_rest=$PATH: path_first='' path_last=''
    while [ "$path_rest" ]; do
        path_one=${path_rest%%:*} path_rest=${path_rest#*:}
        # shellcheck disable=SC3013 # dash and bash have -ef
        if [ -x "$path_one/python3" ] && ! [ "$path_one/python3" -ef /usr/bin/python3 ]; then
            path_last=$path_last:$path_one
        else
            path_first=$path_first:$path_one
        fi
    done
    PATH=${path_first#:}$path_last
    PATH=${PATH#:}
    unset path_rest path_first path_last path_one
fi
