/**
 * Approvals: a call of a tool waits until a person allows it. `approval-gate.ts` holds calls back and runs those that are allowed,
 * `question-board.ts` asks in the channel, `commands.ts` takes decisions, and `approval-desk.ts` reports them to the channel.
 */

import { DueWorkDesk } from "../../channel/due-work.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { Feature, OpenFeature, OpenParts, WorkParts } from "../feature.ts";
import { approvalOf } from "./approval.ts";
import { ApprovalDesk, type ApprovalDeskParts } from "./approval-desk.ts";
import { ApprovalGate } from "./approval-gate.ts";
import { ApprovalStore } from "./approval-store.ts";
import { mayAsk, warnOfApprovers } from "./approvers.ts";
import { approvalsCommand, approveCommand, denyCommand } from "./commands.ts";
import { type Approvals, APPROVALS } from "./key.ts";
import { QuestionBoard } from "./question-board.ts";

export const approvals: Feature<Approvals, null> = {
  key: APPROVALS,
  toolOf({ approvals: { tools } }, tool) {
    const { name } = tool.spec;
    const asks = Object.hasOwn(tools, name) ? tools[name] : undefined;
    return asks === undefined ? tool : { ...tool, asks };
  },
  commands: [
    { command: approveCommand, after: "model" },
    { command: denyCommand, after: "approve" },
    { command: approvalsCommand, after: "deny" },
  ],
  warn: warnOfApprovers,
  async waiting(database) {
    const json = await new ApprovalStore(database).countWaiting();
    const { count, since } = json;
    return {
      json,
      line: (_, oldest) =>
        count === 0 ? "none" : `${formatNumber(count)} wait for a person${oldest(since)}`,
    };
  },
  open: ({ setup, platformOf, ...parts }) =>
    openApprovals({
      ...parts,
      approvals: new ApprovalStore(parts.database),
      mayBeAsked: () => [...setup().agents.all()].some(({ agent }) => mayAsk(agent)),
      serves: (channel) => platformOf(channel) !== undefined,
    }),
};

type Parts = Pick<OpenParts, "log"> & Pick<ApprovalDeskParts, "approvals" | "mayBeAsked" | "serves">;

interface OpenApprovals extends OpenFeature<Approvals, null> {
  readonly work: (parts: WorkParts) => ApprovalDesk;
}

export function openApprovals(parts: Parts): OpenApprovals {
  const { approvals: store } = parts;
  let desk: ApprovalDesk | null = null;
  return {
    service: {
      store,
      async decide(...decision) {
        if (desk === null) throw new Error("a decision comes before the channels");
        return desk.decide(...decision);
      },
    },
    gates: {
      of: (site) => new ApprovalGate(store, site, () => desk?.asked(site.owner.channel)),
      releases: (messageId) => approvalOf(messageId) !== null,
      async settled(channel, releases) {
        await store.endUntaken(
          channel,
          releases.flatMap((messageId) => approvalOf(messageId) ?? []),
        );
        desk?.changed();
      },
    },
    changed: () => desk?.changed(),
    boardOf: (site, outbox) => new QuestionBoard(store, site, outbox),
    async waitsFor(turn) {
      const calls = await store.waitingOf(turn);
      return calls === 0
        ? null
        : `waits for somebody to allow ${counted(calls, "tool call")}: /approvals lists them.`;
    },
    work: ({ store: rows, waker, registry }) =>
      (desk = new ApprovalDesk({ ...parts, waker, registry, dueWork: new DueWorkDesk(rows, waker) })),
    [Symbol.asyncDispose]: async () => desk?.[Symbol.asyncDispose](),
  };
}
