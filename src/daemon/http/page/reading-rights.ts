import { HTTPException } from "hono/http-exception";
import { describeMemories } from "../../../admin/reports/channel-format.ts";
import type { ChannelReport } from "../../../admin/reports/channel-report.ts";
import { isOperators } from "../../../context/sections/section.ts";
import type { Entry } from "../../../core/entry.ts";
import { channelId, formatAddress, type MemoryId } from "../../../core/ids.ts";
import type { ChannelRow } from "../../../store/channels/channels.ts";
import type { Store } from "../../../store/store.ts";
import type { TimeFormat } from "../../../text/time.ts";
import { findChannel, noSuchChannel } from "../channels.ts";
import { isPublic, mayRead, NOT_SHOWN, OPERATORS_ALONE, type Role } from "./roles.ts";

type Stores = Pick<Store, "publicTexts">;
type Named = Pick<ChannelRow, "id" | "kind" | "isPrivate" | "address">;

const NAMES: Readonly<Record<ChannelRow["kind"], string>> = {
  dm: "direct message",
  channel: "private channel",
  thread: "thread",
};
const STAND_IN = /^(?:direct message|private channel|thread) (?<id>[1-9]\d{0,14})$/;

/** What the role of a session may read of what a place has read. What it may not is replaced or left out, never only hidden. */
export class ReadingRights {
  readonly role: Role;

  constructor(role: Role) {
    this.role = role;
  }

  /** Nothing needs to be asked. */
  get isAll(): boolean {
    return mayRead(this.role, OPERATORS_ALONE);
  }

  /** A text of the operator's; "": the role may not read it. */
  operators(text: string): string {
    return this.isAll ? text : "";
  }

  /** Whether any text of a channel may be read. */
  reads(channel: Pick<ChannelRow, "kind" | "isPrivate">): boolean {
    return mayRead(this.role, { isOpen: isPublic(channel), wasOpen: true });
  }

  /** The name by which the page calls a channel and finds it. A name of a person, or one that people gave, is a text, too. */
  nameOf(channel: Named): string {
    return this.reads(channel) ? formatAddress(channel.address) : `${NAMES[channel.kind]} ${channel.id}`;
  }

  /**
   * The channel that {@link nameOf} calls so. Whether another name is one of a channel, nobody learns.
   * @throws HTTPException if there is none
   */
  async find({ store }: { readonly store: Pick<Store, "channels"> }, name: string): Promise<ChannelRow> {
    if (this.isAll) return findChannel({ store }, name);
    const id = STAND_IN.exec(name)?.groups?.["id"];
    const found =
      id === undefined ? await findChannel({ store }, name) : await store.channels.get(channelId(Number(id)));
    if (found === undefined || this.nameOf(found) !== name) throw noSuchChannel();
    return found;
  }

  /** As {@link find}. @throws HTTPException if none of its texts may be read, too */
  async findReadable(parts: { readonly store: Pick<Store, "channels"> }, name: string): Promise<ChannelRow> {
    const channel = await this.find(parts, name);
    if (!this.reads(channel))
      throw new HTTPException(403, { message: `The texts of this channel are ${NOT_SHOWN}.` });
    return channel;
  }

  /**
   * The same entries; in place of one that may not be read stands a notice without its author and text. The arguments
   * and results of tools are never shown: nobody posted them, and they may quote the operator's files or a server.
   */
  async entries(
    { publicTexts }: Stores,
    channel: Pick<ChannelRow, "id" | "kind" | "isPrivate">,
    entries: readonly Entry[],
  ): Promise<readonly Entry[]> {
    if (this.isAll) return entries;
    const seqs = entries.map(({ seq }) => seq);
    const said = this.reads(channel) ? await publicTexts.said(channel.id, seqs) : new Set();
    return entries.map((entry): Entry => {
      const audience = { isOpen: isPublic(channel), wasOpen: said.has(entry.seq) };
      if (!mayRead(this.role, audience)) return hidden(entry);
      if (entry.kind === "tool_call")
        return { ...entry, calls: entry.calls.map((call) => ({ ...call, arguments: NOT_SHOWN })) };
      if (entry.kind === "tool_result") return { ...entry, text: NOT_SHOWN, references: [], memories: [] };
      return entry;
    });
  }

  /** Whether what Weir makes of all entries up to one may be read. Default: of all that there are. */
  async readsMadeOf(
    { publicTexts }: Stores,
    channel: Pick<ChannelRow, "id" | "kind" | "isPrivate" | "lastSeq">,
  ): Promise<(toSeq?: number) => boolean> {
    if (this.isAll) return () => true;
    const saidTo = this.reads(channel) ? await publicTexts.saidTo(channel.id) : -1;
    return (toSeq = channel.lastSeq) =>
      mayRead(this.role, { isOpen: isPublic(channel), wasOpen: toSeq <= saidTo });
  }

  /** Those of these memories that may be read. */
  async memories(
    { publicTexts }: Stores,
    ids: readonly MemoryId[],
  ): Promise<Pick<ReadonlySet<MemoryId>, "has">> {
    return this.isAll ? new Set(ids) : publicTexts.memories(ids);
  }

  /** A channel's report as the role may read it: numbers stay. */
  async report(stores: Stores, channel: ChannelRow, report: ChannelReport): Promise<ChannelReport> {
    if (this.isAll) return report;
    const reads = await this.readsMadeOf(stores, channel);
    const known = await this.memories(
      stores,
      report.memories.map(({ id }) => id),
    );
    return {
      ...report,
      channel: this.nameOf(channel),
      summaries: report.summaries.map((one) => (reads(one.toSeq) ? one : { ...one, text: NOT_SHOWN })),
      memories: report.memories.filter(({ id }) => known.has(id)).map(withoutDissent),
      sections: this.sections(report.sections, reads()),
      focus: reads() ? report.focus : { summary: "", paths: [], symbols: [], signals: [] },
    };
  }

  /** The sections of a request whose names, reasons and texts may be read. @param isRead what Weir makes of the channel */
  sections<Of extends Parameters<typeof isOperators>[0]>(sections: readonly Of[], isRead: boolean): Of[] {
    if (this.isAll) return [...sections];
    return isRead ? sections.filter((section) => !isOperators(section)) : [];
  }

  /** What is remembered, in lines. @param report as {@link report} has returned it */
  memoryLines(report: ChannelReport, time: TimeFormat): string[] {
    if (this.isAll || report.memories.length > 0) return describeMemories(report, time);
    return [`What is remembered of it is ${NOT_SHOWN}, or there is nothing.`];
  }
}

/** What others say otherwise was said elsewhere. */
export function withoutDissent<Of extends { readonly otherwise?: unknown }>(
  memory: Of,
): Omit<Of, "otherwise"> {
  const { otherwise: _otherwise, ...rest } = memory;
  return rest;
}

function hidden({ seq, at, deleted, tokens, ...entry }: Entry): Entry {
  const after = "after" in entry ? entry.after : null;
  return { kind: "notice", seq, at, deleted, tokens, text: NOT_SHOWN, after, edits: null };
}
