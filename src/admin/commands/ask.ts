import { memberNamed } from "../../core/team.ts";
import { retryWrite } from "../../async/retry.ts";
import { displayableLine } from "../../text/displayable.ts";
import { type AskedCommand, type Command, type CommandParts, placeName } from "./command.ts";
import { keptMessage } from "./kept-message.ts";

export const askCommand: Command = {
  name: "ask",
  help: "ask another agent that answers here",
  argument: { name: "question", form: "AGENT TEXT", help: "which agent, and what you ask it" },
  allowed: "everybody",
  keepsMessage: true,
  run: ask,
};

/**
 * `/ask AGENT TEXT`: the text becomes the asker's message in the log, for that agent. If commands are typed into messages, the
 * router handles it, and this runs only for an unknown agent.
 */
async function ask(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { store, waker, guestsOf } = parts;
  const { channel, argument, typed } = command;
  const { team } = guestsOf(channel);
  if (team.length === 0) return `Only one agent answers in ${placeName(channel)}: just write to it.`;
  const [wanted = "", ...words] = argument.split(/\s+/);
  const member = memberNamed(team, wanted.replace(/[,:]$/, ""));
  if (member === undefined) {
    const unknown =
      wanted === "" ? "Whom?" : `There is no agent "${displayableLine(wanted.slice(0, 60))}" here.`;
    const names = team.map(({ names: [name = ""] }) => name).join(", ");
    return `${unknown} There are: ${names}. This is ${typed("ask AGENT TEXT")}.`;
  }
  if (words.join("") === "") return `What do you ask ${member.name}? This is ${typed("ask AGENT TEXT")}.`;
  const message = await keptMessage(parts, command, argument.slice(wanted.length).trim());
  const whom = member.agent === null ? {} : { agent: member.agent };
  const { result: appended } = await retryWrite(async () =>
    store.log.appendMessage(channel.id, { ...message, addressed: true, ...whom }),
  );
  waker.announce(channel.id, appended);
  return `${member.name} has your question.`;
}
