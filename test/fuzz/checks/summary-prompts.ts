import type { ModelRequest } from "../../../src/llm/model.ts";
import type { Incarnation } from "../incarnation.ts";
import type { Ledger } from "../ledger.ts";
import type { LiveJob } from "../observe.ts";
import { findUnpaired } from "./i5-pairs.ts";
import { SUMMARISER } from "../profile.ts";
import { piecesOf } from "../../../src/llm/offline/transcript.ts";
import { formFaults } from "../../support/request-form.ts";
import { estimateRequest, markersIn, plainSummary } from "../prompt.ts";

/** A summariser's request as it arrived. */
export interface SummaryArrival {
  readonly request: ModelRequest;
  /** Stands for what it says. */
  readonly content: string;
  readonly incarnation: Incarnation;
  /** The channel's live job at that moment. */
  readonly job: LiveJob | undefined;
  readonly isSole: boolean;
  /** Markers whose deletion was acknowledged before. */
  readonly gone: ReadonlySet<string>;
  /** Markers that an edit took which was acknowledged before, and the last job that had begun by then. */
  readonly editedAway: ReadonlyMap<string, number>;
}

/** How long a request may be under way that was put together before its window was found to be smaller, ms: as long as a simulation has it wait, or a slow machine. */
const UNDER_WAY_MS = { simulated: 150, wild: 5000 } as const;
const believed = new WeakMap<Incarnation, { readonly window: number; readonly until: number }>();

/** What a request may fill: another channel's may have been refused, and taught a smaller window, a moment ago. */
function believedWindow(incarnation: Incarnation, model: string): number {
  const window = incarnation.models.windowOf(model, 0);
  const former = believed.get(incarnation);
  const now = performance.now();
  if (former !== undefined && former.window > window && now < former.until) return former.window;
  believed.set(incarnation, {
    window,
    until: now + UNDER_WAY_MS[incarnation.isSimulated ? "simulated" : "wild"],
  });
  return window;
}

/** A summary as a summariser is shown it, to be made into one with others. */
const SUMMARY = "[Compaction Summary]:";
/** With its times and its number, up to its text. */
const LABEL = /^\[Compaction Summary\]:(?: \([^()]*\))?\n/;
/** Of one attempt, over all parts of a long range. */
const MAX_CALLS = 10;
/** What came before the range, which is not the job's to summarise. */
const BACKGROUND = "[System: background";

/** The summaries that a request shows to be summarised. */
export function summariesIn({ messages }: ModelRequest): ReadonlySet<string> {
  const texts = piecesOf(messages).filter(({ role, text }) => role === "user" && text.startsWith(SUMMARY));
  return new Set(texts.map(({ text }) => plainSummary(text.replace(LABEL, "\n")).slice(1)));
}

/** Markers in the transcripts of a request: a summary names some of what it is of, and that is not all that was said. */
function saidIn({ messages }: ModelRequest): ReadonlySet<string> {
  return markersIn(
    piecesOf(messages).filter(
      ({ role, text }) => role === "user" && !text.startsWith(SUMMARY) && !text.startsWith(BACKGROUND),
    ),
  );
}

/** It fits (I6), has its results behind its calls (I5), shows nothing deleted and nothing of another channel (I12), nothing that was edited away before its job began (I17), nothing is paid for twice (I9), and attempts are bounded (I14). */
export function checkSummaryPrompt(arrival: SummaryArrival, ledger: Ledger): void {
  const { request, content, incarnation, job, isSole, gone, editedAway } = arrival;
  // A summariser's tools are counted without the names that a turn's have round them.
  const tokens = estimateRequest(request) - request.tools.length * 8 + request.maxOutputTokens;
  const window = believedWindow(incarnation, request.model);
  // A fallback may be the model that answers people, with its own window.
  if (request.model === SUMMARISER && tokens > window)
    ledger.violate("I6", `a summariser's request of ${tokens} tokens in ${window}`);
  const markers = markersIn(request.messages);
  const foreign = [...markers].filter((marker) => !ledger.mayShow(marker));
  if (foreign.length > 0)
    ledger.violate("I12", `a summariser's prompt shows what another channel said: ${foreign.join(", ")}`);
  const deleted = [...markers].filter((marker) => gone.has(marker));
  if (isSole && deleted.length > 0)
    ledger.violate("I12", `a summariser's prompt shows deleted text: ${deleted.join(", ")}`);
  for (const what of [...findUnpaired(request.messages), ...formFaults(request.messages)])
    ledger.violate("I5", `a summariser's request: ${what}`);
  if (job === undefined || request.task === "revise") return;
  const calls = ledger.callIn(incarnation, job);
  if (calls > MAX_CALLS)
    ledger.violate("I14", `attempt ${job.attempt} of job ${job.id} makes model call ${calls}`);
  const shown = ledger.shownTo(job.id);
  for (const marker of saidIn(request)) shown.markers.add(marker);
  if (!isSole) return;
  const outdated = [...markers].filter((marker) => job.id > (editedAway.get(marker) ?? job.id));
  if (outdated.length > 0)
    ledger.violate("I17", `job ${job.id} reads what was edited away before it began: ${outdated.join(", ")}`);
  if (job.state === "staged" || ledger.staged.has(job.id))
    ledger.violate("I9", `job ${job.id} is finished, and its model is asked again`);
  const known = ledger.answeredTo.get(content);
  if (known !== undefined && job.result?.parts.some(({ text }) => text === known) === true)
    ledger.violate("I9", `a finished part of job ${job.id} is asked for again`);
}
