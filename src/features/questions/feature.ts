/**
 * Questions to people. A tool call may wait for an approval, and the agent's tool `ask` lets a person make a choice.
 * `question-gate.ts` holds such calls back and runs the allowed ones. `question-board.ts` asks in the channel. `commands.ts` and
 * `answer-command.ts` take decisions and answers. `question-desk.ts` reports these to the channel.
 */

import { DueWorkDesk } from "../../channel/due-work.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { Feature, InboxAsked, OpenFeature, OpenParts, WaitingItem, WorkParts } from "../feature.ts";
import { choiceText } from "./choice-text.ts";
import { isShownWhole, questionText, type QuestionStyle } from "./question-text.ts";
import { questionOf } from "./question.ts";
import { QuestionDesk, type QuestionDeskParts } from "./question-desk.ts";
import { QuestionGate } from "./question-gate.ts";
import { QuestionStore } from "./question-store.ts";
import { mayAsk, warnOfApprovers } from "./approvers.ts";
import { actOnQuestion, questionActs } from "./decide.ts";
import { answerCommand } from "./answer-command.ts";
import { choiceIn, mayAnswer, mayBeChoice } from "./choice.ts";
import { ask, isAsk } from "./tool.ts";
import { approvalsCommand, approveCommand, denyCommand } from "./commands.ts";
import { type Questions, QUESTIONS } from "./key.ts";
import { QuestionBoard } from "./question-board.ts";

export const questions: Feature<Questions, null> = {
  key: QUESTIONS,
  toolOf({ approvals: { tools } }, tool) {
    const { name } = tool.spec;
    const asks = Object.hasOwn(tools, name) ? tools[name] : undefined;
    return asks === undefined ? tool : { ...tool, asks };
  },
  toolsOf: ({ questions: { enabled } }) => (enabled ? [ask] : []),
  commands: [
    { command: approveCommand, after: "model" },
    { command: denyCommand, after: "approve" },
    { command: approvalsCommand, after: "deny" },
    { command: answerCommand, after: "approvals" },
  ],
  warn: warnOfApprovers,
  async waiting(database) {
    const json = await new QuestionStore(database).countWaiting();
    const { count, since } = json;
    return {
      json,
      line: (_, oldest) =>
        count === 0 ? "none" : `${formatNumber(count)} wait for a person${oldest(since)}`,
    };
  },
  open({ setup, platformOf, ...parts }) {
    const store = new QuestionStore(parts.database);
    const opened = openQuestions({
      ...parts,
      questions: store,
      mayBeAsked: () =>
        [...setup().agents.all()].some(({ agent }) => mayAsk(agent) || agent.tools.some(isAsk)),
      serves: (channel) => platformOf(channel) !== undefined,
    });
    return {
      ...opened,
      act: async (asked) => actOnQuestion(opened.service, asked),
      inbox: async (asked) => readInbox(store, { setup, platformOf }, asked),
    };
  },
};

/** The questions as their channels show them, with what to type. */
async function readInbox(
  store: QuestionStore,
  { setup, platformOf }: Pick<OpenParts, "setup" | "platformOf">,
  { limit, masked }: InboxAsked,
): Promise<WaitingItem[]> {
  const { agents } = setup();
  return (await store.waiting(limit)).map((waiting) => {
    const { row, address, since } = waiting;
    const { agent } = agents.of(row.agent);
    const style: QuestionStyle = {
      agent: agent.config.name,
      hasButtons: false,
      typed: (command) => `${platformOf(address)?.capabilities.commandPrefix ?? "/"}${command}`,
      time: (at) => agent.time.full(at),
      masked,
      maxLength: INBOX_LENGTH,
    };
    return {
      ...questionActs(waiting, isShownWhole(row, style)),
      channel: address,
      since,
      // Here nothing is markup: the fence of the call would be read as text.
      text: row.kind === "choice" ? choiceText(row, style) : questionText(row, style).replaceAll("\n```", ""),
    };
  });
}

/** Longest text of a question in an inbox, in UTF-16 units. */
const INBOX_LENGTH = 2000;

type Parts = Pick<OpenParts, "log"> &
  Pick<QuestionDeskParts, "questions" | "mayBeAsked" | "serves" | "isClustered">;

interface OpenQuestions extends OpenFeature<Questions, null> {
  readonly work: (parts: WorkParts) => QuestionDesk;
}

export function openQuestions(parts: Parts): OpenQuestions {
  const { questions: store } = parts;
  let desk: QuestionDesk | null = null;
  const opened = (): QuestionDesk => {
    if (desk === null) throw new Error("a decision comes before the channels");
    return desk;
  };
  return {
    service: {
      store,
      decide: async (...decision) => opened().decide(...decision),
      answer: async (...answer) => opened().answer(...answer),
    },
    commandIn: async ({ channel, author, text }) => {
      if (!mayBeChoice(text)) return null;
      const choices = (await desk?.choicesAt(channel)) ?? [];
      const own = choices.filter((one) => mayAnswer(one, channel.platform, author.id));
      const made = choiceIn(own, text);
      return made === null ? null : { name: answerCommand.name, argument: `${made.id} ${made.number}` };
    },
    gates: {
      of: (site) => new QuestionGate(store, site, () => desk?.asked(site.owner.channel)),
      releases: (messageId) => questionOf(messageId) !== null,
      async settled(channel, releases) {
        await store.endUntaken(
          channel,
          releases.flatMap((messageId) => questionOf(messageId) ?? []),
        );
        desk?.changed();
      },
    },
    changed: () => desk?.changed(),
    boardOf: (site, outbox) => new QuestionBoard(store, site, outbox),
    async waitsFor(turn) {
      const { approvals, choices } = await store.waitingOf(turn);
      if (approvals > 0)
        return `waits for somebody to allow ${counted(approvals, "tool call")}: /approvals lists them.`;
      return choices === 0
        ? null
        : `waits for an answer to ${counted(choices, "question")}: /answer lists what is asked.`;
    },
    work: ({ store: rows, waker, registry }) =>
      (desk = new QuestionDesk({ ...parts, waker, registry, dueWork: new DueWorkDesk(rows, waker) })),
    [Symbol.asyncDispose]: async () => desk?.[Symbol.asyncDispose](),
  };
}
