import { html } from "hono/html";
import { describeMemory } from "../../../../admin/commands/memory.ts";
import { type AgentId, formatAddress } from "../../../../core/ids.ts";
import { whoseOf } from "../../../../core/memory.ts";
import { inPageOrder, isOnPageOf } from "../../../../memory/people.ts";
import { weirCommand } from "../../../../files/installation.ts";
import type { MemoryRecord, RejectedMemories } from "../../../../store/memory/memories.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { channelPath, forgetPath, type Markup, memoriesPath, table, timeCell } from "../markup.ts";
import type { Asked, Place, Shown } from "../place.ts";
import { type ReadingRights, withoutDissent } from "../reading-rights.ts";

const MEMORIES_ON_PAGE = 200;
/** Of one memory. */
const PROOFS_SHOWN = 10;
/** Longest name of a person that is looked for, in UTF-16 units. */
const MOST_NAME = 200;

type MemoriesView = Awaited<ReturnType<typeof readMemories>>;

/** What is remembered, of all channels or one, and of one person: as `weir memories`, with what features know of a channel. */
export const memoriesPlace: Place = {
  path: "/page/memories",
  name: "Memories",
  viewer: "what rests on words that were said in public",
  async show({ reports, mask, query, rights, signal }: Asked): Promise<Shown> {
    const view = await reports.read(async (daemon) => {
      const asked = { id: query("id"), person: query("person").slice(0, MOST_NAME) };
      return readMemories(daemon, asked, rights, mask);
    }, signal);
    return { title: "Memories", body: memoriesBody(view) };
  },
};

async function readMemories(
  daemon: ReportedDaemon,
  { id, person }: { readonly id: string; readonly person: string },
  rights: ReadingRights,
  mask: (text: string) => string,
) {
  const { store, features } = daemon;
  const { agents } = daemon.current.setup;
  const timeOf = (agent: AgentId): TimeFormat => (agents.named(agent) ?? agents.first).agent.time;
  const channel = id === "" ? undefined : await rights.findReadable(daemon, id);
  const time = channel === undefined ? agents.first.agent.time : timeOf(channel.agent);
  const filter = {
    ...(channel !== undefined && { channel: channel.id }),
    ...(person !== "" && { person }),
    isPublic: !rights.isAll,
  };
  const [found, rejected, lists] = await Promise.all([
    store.memories.list(filter, MEMORIES_ON_PAGE + 1),
    channel === undefined ? [] : store.memories.rejected({ channel: channel.id }),
    channel === undefined || !rights.isAll ? [] : features.channelLists(channel.id, time),
  ]);
  return {
    // Of the address; "": all channels, or everybody.
    channel: mask(channel === undefined ? "" : formatAddress(channel.address)),
    person: mask(person),
    memories: masked(
      found.slice(0, MEMORIES_ON_PAGE).map((one) => (rights.isAll ? one : withoutDissent(one))),
      mask,
    ),
    isMore: found.length > MEMORIES_ON_PAGE,
    rejected,
    lists: masked(lists, mask),
    timeOf,
    time,
    // False: others are there that the role may not read, or forget.
    isAll: rights.isAll,
  };
}

function memoriesBody(view: MemoriesView): Markup {
  const { channel, person, memories, isMore, rejected, lists } = view;
  const inForce = memories.filter(({ until }) => until === undefined);
  const onPage = person === "" ? [] : inPageOrder(inForce.filter((memory) => isOnPageOf(memory, person)));
  const others = inForce.filter((memory) => !onPage.includes(memory));
  const ended = memories.filter(({ until }) => until !== undefined);
  return html`<h1>Memories</h1>
    ${filterForm(view)}
    ${channel === "" ? "" : html`<p><a href="${channelPath(channel)}">The channel ${displayableLine(channel)}</a></p>`}
    ${memories.length === 0 ? emptyState(view) : ""}
    ${onPage.length === 0 ? "" : section(`Page of ${displayableLine(person)}`, onPage, view)}
    ${others.length === 0 ? "" : section(onPage.length === 0 ? "In force" : "Also said by or about them", others, view)}
    ${ended.length === 0 ? "" : section("Ended", ended, view)}
    ${
      isMore
        ? html`<p class="dim">
            These are the newest ${formatNumber(MEMORIES_ON_PAGE)}:
            <code>${weirCommand("memories")}</code> lists more.
          </p>`
        : ""
    }
    ${lists.map(
      ({ label, lines }) =>
        html`<h2>${displayableLine(label)}</h2>
          <ul>
            ${lines.map((line) => html`<li class="lines">${line}</li>`)}
          </ul>`,
    )}
    ${channel === "" ? "" : rejectedMarkup(rejected, view.time)}`;
}

function filterForm({ channel, person }: MemoriesView): Markup {
  return html`<form class="filter" method="get" action="/page/memories">
    <label
      >Channel<br /><input name="id" value="${channel}" placeholder="platform:name" spellcheck="false"
    /></label>
    <label
      >Person<br /><input name="person" value="${person}" placeholder="a name" spellcheck="false"
    /></label>
    <button>Show</button>
    ${channel === "" && person === "" ? "" : html`<a href="${memoriesPath()}">All</a>`}
  </form>`;
}

function emptyState({ channel, person, isAll }: MemoriesView): Markup {
  if (!isAll) return html`<p>Nothing is remembered that viewers may read.</p>`;
  if (person !== "")
    return html`<p>
      Nothing is remembered of ${displayableLine(person)}: a name must be written whole, as it stands in the
      conversation.
    </p>`;
  const where = channel === "" ? "" : " of this channel";
  return html`<p>
    Nothing is remembered${where} yet. Summaries save what people state; <code>/remember TEXT</code> in a
    channel keeps a statement at once.
  </p>`;
}

function section(title: string, memories: readonly MemoryRecord[], view: MemoriesView): Markup {
  return html`<h2>${title} <span class="dim">${counted(memories.length, "memory", "memories")}</span></h2>
    ${table(
      [
        "number",
        "kind",
        "statement",
        "said by",
        "since and proofs",
        view.channel === "" ? "channel" : "agent",
      ],
      memories.map((memory) => memoryCells(memory, view)),
    )}`;
}

function memoryCells(memory: MemoryRecord, view: MemoriesView): (Markup | string)[] {
  const { id, type, scope, subject, statement, tool, assertedBy, sources, agent } = memory;
  const time = view.timeOf(agent);
  const name = formatAddress(memory.channel);
  return [
    html`#${id}${
      view.isAll
        ? html`<br /><a href="${forgetPath({ id: name, agent, memory: String(id) })}">forget</a>`
        : ""
    }`,
    html`${type}<br /><span class="dim">${scope}</span>`,
    html`${displayableLine(statement)}<br /><span class="dim">about ${displayableLine(subject)}</span>`,
    tool === undefined
      ? html`<a href="${memoriesPath({ channel: view.channel, person: assertedBy })}"
          >${displayableLine(assertedBy)}</a
        >`
      : displayableLine(whoseOf(memory)),
    html`<details>
      <summary>${describeMemory(memory, time)}</summary>
      <ul>
        ${sources
          .slice(0, PROOFS_SHOWN)
          .map(
            ({ seq, at, author, quote }) =>
              html`<li>
                entry ${formatNumber(seq)}, ${time.minute(at)}, ${displayableLine(author)}:
                “${displayableLine(quote)}”
              </li>`,
          )}
        ${
          sources.length > PROOFS_SHOWN
            ? html`<li class="dim">and ${formatNumber(sources.length - PROOFS_SHOWN)} more</li>`
            : ""
        }
      </ul>
    </details>`,
    view.channel === ""
      ? html`<a href="${memoriesPath({ channel: name })}">${displayableLine(name)}</a>`
      : displayableLine(agent),
  ];
}

function rejectedMarkup(rejected: readonly RejectedMemories[], time: TimeFormat): Markup {
  return html`<h2>Refused</h2>
    <p class="dim">Statements that did not pass the checks; what they said is not kept.</p>
    ${
      rejected.length === 0
        ? html`<p class="dim">None so far.</p>`
        : table(
            ["why", "times", "last"],
            rejected.map(({ reason, count, lastAt }) => [
              displayableLine(reason),
              formatNumber(count),
              timeCell(time.minute(lastAt)),
            ]),
          )
    }`;
}
