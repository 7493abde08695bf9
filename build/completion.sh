#!/bin/sh
# SPDX-License-Identifier: MIT
#
# completion.sh OD FOLDER: completion for bash, zsh and fish, made from the
# list of applets and the options in their usage texts. If the first word is not
# an applet, od is the octal dump, and completes as without this file.
set -eu

od=$1 out=$2
mkdir -p "$out"

# The options of an applet: the words of its usage text that look like options.
options() {
    "$od" help "$1" --all | grep -oE '(^|[][ ,|(])--?[A-Za-z][A-Za-z0-9-]*' |
        sed 's/^[^-]*//' | sort -u
}

# The words that options of od serve take: "OPTION) echo WORD... ;;", from paragraphs that
# end with them, ": text or json".
choices() {
    "$od" help serve --all | awk '
        /^  (-., )?--/ { option = $NF ~ /^--/ ? $NF : $(NF - 1); text = ""; next }
        /^      \(/ {
            if (match(text, /: [a-z0-9-]+(, [a-z0-9-]+)* or [a-z0-9-]+$/)) {
                words = substr(text, RSTART + 2)
                gsub(/,| or /, " ", words)
                print "    serve:" option ") echo " words " ;;"
            }
            text = ""
        }
        /^      [^(]/ { sub(/^ +/, ""); text = text (text ? " " : "") $0 }'
}

names=$("$od" --list | cut -d' ' -f1)
words="$names help --help --list --version --licenses --install"

{
    echo "# Made from the usage texts of od."
    echo "_od_options() {"
    echo "    case \$1 in"
    for name in $names; do
        echo "    $name) echo '$(options "$name" | tr '\n' ' ')' ;;"
    done
    cat <<'END'
    esac
}
# _od_values COMMAND APPLET OPTION: the names and words that the option takes.
_od_values() {
    local od=$1
    case ${1##*/} in od | od-agent) od="$1 $2" ;; esac
    case $2:$3 in
END
    choices
    cat <<'END'
    exec:-s | exec:--session) $od --list | awk 'NR > 1 && $2 != "process" { print $1 }' ;;
    exec:-p | exec:--process) $od --list | awk '$2 == "process" { print $1 }' ;;
    browse:-s | browse:--session) $od --list | awk 'NR > 1 { print $1 }' ;;
    jupyter-bridge:-s | jupyter-bridge:--name)
        $od --list | awk '$1 == "KERNEL" { exit } NR > 1 { print $1 }' ;;
    jupyter-bridge:-k | jupyter-bridge:--kernel)
        $od --list | awk 'on { print $1 } $1 == "KERNEL" { on = 1 }' ;;
    skills:) $od | awk '/^[a-z_]+  / { print $1 }' ;;
    esac 2>/dev/null
}
_od() {
    local cur=${COMP_WORDS[COMP_CWORD]} applet=${COMP_WORDS[1]} first=1
    case ${COMP_WORDS[0]##*/} in
    od-agent) ;;
    od-*) applet=${COMP_WORDS[0]##*/} applet=${applet#od-} first=0 ;;
    esac
    COMPREPLY=()
    if ((COMP_CWORD > first)); then
        local before=${COMP_WORDS[COMP_CWORD - 1]}
        ((COMP_CWORD > first + 1)) || [[ $before == -* || $cur == -* ]] || before=
        mapfile -t COMPREPLY < <(compgen -W "$(_od_values "${COMP_WORDS[0]}" "$applet" "$before")" -- "$cur")
        [ ${#COMPREPLY[@]} -eq 0 ] || return
    fi
    if ((COMP_CWORD > first)) && [ -n "$(_od_options "$applet")" ]; then
        [[ $cur != -* ]] || mapfile -t COMPREPLY < \
            <(compgen -W "$(_od_options "$applet")" -- "$cur")
        return
    fi
    if ((COMP_CWORD == 2)) && [ "$applet" = help ]; then
END
    echo "        mapfile -t COMPREPLY < <(compgen -W '$(echo "$names" | tr '\n' ' ')' -- \"\$cur\")"
    cat <<'END'
        return
    fi
    if declare -F _longopt >/dev/null; then
        _longopt od 2>/dev/null
    fi
    if ((COMP_CWORD == 1)); then
        local ours
END
    echo "        mapfile -t ours < <(compgen -W '$(echo "$words" | tr '\n' ' ')' -- \"\$cur\")"
    cat <<'END'
        COMPREPLY+=("${ours[@]}")
        compopt -o filenames 2>/dev/null
        [ ${#COMPREPLY[@]} -eq 0 ] || [[ $cur == -* ]] ||
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
    fi
}
END
    echo "complete -o bashdefault -o default -F _od od od-agent$(for n in $names; do printf ' od-%s' "$n"; done)"
} >"$out/od.bash"

{
    echo "#compdef od od-agent$(for n in $names; do printf ' od-%s' "$n"; done)"
    echo "# Made from the usage texts of od."
    echo "local applet=\${words[2]}"
    echo "[[ \${words[1]:t} == od-* && \${words[1]:t} != od-agent ]] &&"
    echo "    applet=\${\${words[1]:t}#od-}"
    echo "if (( CURRENT == 2 )) && [[ \${words[1]:t} == (od|od-agent) ]]; then"
    echo "    local -a applets=("
    "$od" --list | while read -r name brief; do
        printf "        '%s:%s'\n" "$name" "$(printf '%s' "$brief" | sed "s/[':]/ /g")"
    done
    echo "        'help:how to use an applet'"
    echo "    )"
    echo "    _describe applet applets"
    echo "    _files"
    echo "    return"
    echo "fi"
    echo "case \$applet in"
    for name in $names; do
        # shellcheck disable=SC2016 # for zsh to expand
        printf '%s)\n    [[ $PREFIX == -* ]] && compadd -- %s || _default\n    ;;\n' \
            "$name" "$(options "$name" | tr '\n' ' ')"
    done
    printf 'help) compadd -- %s ;;\n' "$(echo "$names" | tr '\n' ' ')"
    echo "*) _default ;;"
    echo "esac"
} >"$out/_od"

{
    echo "# Made from the usage texts of od."
    "$od" --list | while read -r name brief; do
        for od_name in od od-agent; do
            printf "complete -c %s -n __fish_is_first_arg -a %s -d '%s'\n" "$od_name" \
                "$name" "$(printf '%s' "$brief" | sed "s/'/ /g")"
        done
        options "$name" | while read -r option; do
            case $option in
            --*) flag="-l ${option#--}" ;;
            -?) flag="-s ${option#-}" ;;
            *) flag="-o ${option#-}" ;;
            esac
            echo "complete -c od -n '__fish_seen_subcommand_from $name' $flag"
            echo "complete -c od-agent -n '__fish_seen_subcommand_from $name' $flag"
            echo "complete -c od-$name $flag"
        done
    done
    echo "complete -c od -n __fish_is_first_arg -a help -d 'how to use an applet'"
} >"$out/od.fish"
