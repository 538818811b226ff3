import { randomUUID } from "node:crypto";
import { COMMAND_PREFIX } from "../core/message.ts";
import { memberNamed, type Team } from "../core/team.ts";
import { retryWrite } from "../async/retry.ts";
import { displayableLine } from "../text/displayable.ts";
import { type AskedCommand, type Command, type CommandParts, placeName } from "./command.ts";

export const askCommand: Command = {
  name: "ask",
  help: "ask another agent that answers here",
  argument: { name: "question", form: "AGENT TEXT", help: "which agent, and what you ask it" },
  allowed: "everybody",
  run: ask,
};

/**
 * `/ask AGENT TEXT`: the text becomes the asker's message in the log, for that agent. Where commands are typed into messages, the
 * router takes such a message for what it is, and this is only run for an agent that there is not.
 */
async function ask(
  { store, registry, guestsOf, now, nameIn }: CommandParts,
  { channel, argument, asker, typed, said }: AskedCommand,
): Promise<string> {
  const { team } = guestsOf(channel);
  if (team.length === 0) return `Only one agent answers in ${placeName(channel)}: just write to it.`;
  const [wanted = "", ...words] = argument.split(/\s+/);
  const member = memberNamed(team, wanted.replace(/[,:]$/, ""));
  if (member === undefined) {
    const unknown =
      wanted === "" ? "Whom?" : `There is no agent "${displayableLine(wanted.slice(0, 60))}" here.`;
    return `${unknown} ${listed(team)} This is ${typed("ask AGENT TEXT")}.`;
  }
  if (words.join("") === "") return `What do you ask ${member.name}? This is ${typed("ask AGENT TEXT")}.`;
  const text = said?.text ?? argument.slice(wanted.length).trim();
  const author = { id: asker.id, name: asker.name, isBot: false };
  const id = said?.id ?? `${COMMAND_PREFIX}${randomUUID()}`;
  const at = said?.at ?? now();
  const { result: appended } = await retryWrite(async () => {
    const name = await nameIn(channel, author);
    const whom = member.agent === null ? {} : { agent: member.agent };
    return store.log.appendMessage(channel.id, {
      id,
      author: { ...author, name },
      text,
      at,
      addressed: true,
      ...whom,
    });
  });
  registry.announce(channel.id, appended);
  return `${member.name} has your question.`;
}

function listed(team: Team): string {
  return `There are: ${team.map(({ names }) => names[0] ?? "").join(", ")}.`;
}
