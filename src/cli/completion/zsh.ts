import type { CompletionTable, Place } from "./table.ts";
import { posixPatterns, posixQuoted } from "./quoted.ts";

/** The script that completes in zsh: `source <(weir completion zsh)` after `compinit`, or a file `_weir` in a folder of `$fpath`. */
export function zshCompletion({ name, commands, withValue, places }: CompletionTable): string {
  return `#compdef ${name}
# zsh completion of ${name}. Load it, after compinit: source <(${name} completion zsh)
_${name}() {
  local cur="\${(Q)words[CURRENT]}" at='' before='' word slot i count=0
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    word="\${(Q)words[i]}"
    if [[ -n $before ]]; then before=''; continue; fi
    case "$at $word" in
      (${posixPatterns(commands)}) at="\${at:+$at }$word"; count=0 ;;
      (${posixPatterns(withValue)}) before="$word" ;;
      (*' -'*) ;;
      (*) count=$((count + 1)) ;;
    esac
  done
  if [[ -n $before ]]; then slot="$before"
  elif [[ $cur == --*=* ]]; then slot="\${cur%%=*}"; compset -P '*='
  elif [[ $cur == -* ]]; then slot='-'
  else slot="$count"; fi
  case "$at $slot" in
${places.map(completedPlace).join("\n")}
  esac
}
if [[ "\${funcstack[1]}" == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;
}

function completedPlace({ key, candidates, takesFiles }: Place): string {
  const reply = takesFiles
    ? "_files"
    : `found=(${candidates.map(described).join(" ")}); _describe -V '' found`;
  return `    (${posixQuoted(key)}) ${reply} ;;`;
}

/** `_describe` reads a word up to the first colon, and its description after it. */
function described({ word, description }: Place["candidates"][number]): string {
  const escaped = word.replaceAll(":", String.raw`\:`);
  return posixQuoted(description === "" ? escaped : `${escaped}:${description}`);
}
