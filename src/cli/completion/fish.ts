import type { CompletionTable, Place } from "./table.ts";

/** The script that completes in fish: `weir completion fish | source`, or a file of `~/.config/fish/completions`. */
export function fishCompletion({ name, commands, withValue, places }: CompletionTable): string {
  return `# fish completion of ${name}. Load it: ${name} completion fish | source
function __${name}_candidates
    set -l cur (commandline -ct)
    set -l at ''
    set -l before ''
    set -l prefix ''
    set -l count 0
    for word in (commandline -opc)[2..-1]
        if test -n "$before"
            set before ''
            continue
        end
        switch "$at $word"
            case ${patterns(commands)}
                set at (string trim "$at $word")
                set count 0
            case ${patterns(withValue)}
                set before $word
            case '* -*'
            case '*'
                set count (math $count + 1)
        end
    end
    set -l slot $count
    if test -n "$before"
        set slot $before
    else if string match -q -- '--*=*' $cur
        set slot (string replace -r -- '=.*' '' $cur)
        set prefix "$slot="
    else if string match -q -- '-*' $cur
        set slot -
    end
    switch "$at $slot"
${places.map(completedPlace).join("\n")}
    end
end
complete -c ${name} -f -k -a '(__${name}_candidates)'
`;
}

function completedPlace({ key, candidates, takesFiles }: Place): string {
  const lines = candidates.map(
    ({ word, description }) =>
      `"$prefix"${fishQuoted(description === "" ? word : `${word}\t${description}`)}`,
  );
  const reply = takesFiles
    ? `printf '%s\\n' "$prefix"(__fish_complete_path (string replace -- "$prefix" '' $cur))`
    : `printf '%s\\n' ${lines.join(" ")}`;
  return `        case ${fishQuoted(key)}\n            ${reply}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
}

function patterns(words: readonly string[]): string {
  return words.map(fishQuoted).join(" ");
}
