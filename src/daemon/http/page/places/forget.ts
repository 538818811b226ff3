import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import { type Forgetting, forgetForOperator, readForgetting } from "../../../../admin/commands/forget.ts";
import { agentId, formatAddress } from "../../../../core/ids.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { counted } from "../../../../text/text.ts";
import { findChannel } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { actForm, type ForgetAsked, type Markup, memoriesPath } from "../markup.ts";
import { type Act, type Asked, type Done, type Place, type Shown } from "../place.ts";

const NUMBER = /^[1-9]\d{0,14}$/;

/** Asks whether a memory is to be forgotten, and says what goes with it. Nothing is changed. */
export const forgetPlace: Place = {
  path: "/page/forget",
  name: null,
  async show(asked: Asked): Promise<Shown> {
    const { query } = asked;
    return question(asked, { id: query("id"), agent: query("agent"), memory: query("memory") });
  },
};

/** @throws HTTPException if there is no such memory */
async function question({ reports, mask, signal, formToken }: Asked, asked: ForgetAsked): Promise<Shown> {
  const view = await reports.read(async (daemon) => {
    const channel = await findChannel(daemon, asked.id);
    const found =
      NUMBER.test(asked.memory) && isAgentId(asked.agent)
        ? await readForgetting(daemon, channel, agentId(asked.agent), Number(asked.memory))
        : undefined;
    if (found === undefined) throw new HTTPException(404, { message: "There is no such memory any more." });
    return masked({ ...found, channel: formatAddress(channel.address) }, mask);
  }, signal);
  return { title: "Forget", body: forgetBody(view, asked, formToken) };
}

/** The numbers that the form has shown; the act compares them, so that it forgets no more. */
function reachOf({ memory, messages, otherMemories }: Forgetting): string {
  return [messages, memory.standsFor.length, otherMemories].join(" ");
}

/** Forgets it, as `/forget NUMBER` by an owner. */
export const forgetAct: Act = {
  path: "/page/forget/act",
  on: (form) => (NUMBER.test(form("memory")) ? `memory ${form("memory")}` : null),
  async run(asked, form, inTime): Promise<Done | Shown> {
    const { daemon } = asked.reports;
    const channel = await findChannel(daemon, form("id"));
    const place = memoriesPath({ channel: formatAddress(channel.address) });
    const none: Done = { place, outcome: "refused", sentence: "There is no such memory any more." };
    if (!isAgentId(form("agent"))) return none;
    const agent = agentId(form("agent"));
    const found = await readForgetting(daemon, channel, agent, Number(form("memory")));
    if (found === undefined) return none;
    if (reachOf(found) !== form("reach"))
      return question(asked, { id: form("id"), agent, memory: form("memory") });
    const ended = await inTime(forgetForOperator(daemon, channel, found));
    if (ended === null) return { place, outcome: "late", sentence: "It is still being forgotten." };
    return { place, outcome: "done", sentence: ended.value };
  },
};

/** Postgres accepts no text with a NUL character. */
function isAgentId(text: string): boolean {
  return text !== "" && !text.includes("\0");
}

function forgetBody(
  view: Forgetting & { readonly channel: string },
  asked: ForgetAsked,
  formToken: string,
): Markup {
  const { memory, messages, otherMemories, channel } = view;
  const same = memory.standsFor.length;
  const goes = [
    `${counted(messages, "message")} that it comes from ${messages === 1 ? "loses its" : "lose their"} text, in the log, in summaries and in threads that repeat it.`,
    ...(same === 0
      ? []
      : [
          `${counted(same, "statement that says", "statements that say")} the same in other words ${same === 1 ? "goes" : "go"}.`,
        ]),
    ...(otherMemories === 0
      ? []
      : [
          `${counted(otherMemories, "memory more that comes", "memories more that come")} from there alone ${otherMemories === 1 ? "goes" : "go"}.`,
        ]),
  ];
  return html`<h1>Forget #${memory.id}?</h1>
    <p>${displayableLine(memory.statement)}</p>
    <p class="dim">
      Of <a href="${memoriesPath({ channel })}">${displayableLine(channel)}</a>, said by
      ${displayableLine(memory.assertedBy)}.
    </p>
    <p>With it:</p>
    <ul>
      ${goes.map((one) => html`<li>${one}</li>`)}
    </ul>
    <p class="warn">
      This cannot be undone. The platform keeps its own copies of messages: delete them there.
    </p>
    ${actForm({ formToken }, forgetAct.path, { ...asked, reach: reachOf(view) }, html`<button>Forget it</button>`)}`;
}
