import type { CompletionTable, Place } from "./table.ts";
import { posixPatterns, posixQuoted } from "./quoted.ts";

/** The script that completes in bash, from 3.2 on: `source <(weir completion bash)`. It needs no package of completions. */
export function bashCompletion({ name, commands, withValue, places }: CompletionTable): string {
  return `# bash completion of ${name}. Load it: source <(${name} completion bash)
_${name}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at='' before='' word slot i count=0 IFS=$'\\n'
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    # bash makes three words of --option=value.
    if [[ $word == '=' ]]; then continue; fi
    if [[ -n $before ]]; then before=''; continue; fi
    case "$at $word" in
      ${posixPatterns(commands)}) at="\${at:+$at }$word"; count=0 ;;
      ${posixPatterns(withValue)}) before="$word" ;;
      *' -'*) ;;
      *) count=$((count + 1)) ;;
    esac
  done
  if [[ $cur == '=' ]]; then cur=''; fi
  if [[ -n $before ]]; then slot="$before"
  elif [[ $cur == -* ]]; then slot='-'
  else slot="$count"; fi
  case "$at $slot" in
${places.map(completedPlace).join("\n")}
  esac
}
complete -F _${name} ${name}
`;
}

function completedPlace({ key, candidates, takesFiles }: Place): string {
  const words = candidates.map(({ word }) => word).join("\n");
  const reply = takesFiles
    ? `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur"))`
    : `COMPREPLY=($(compgen -W ${posixQuoted(words)} -- "$cur"))`;
  return `    ${posixQuoted(key)}) ${reply} ;;`;
}
