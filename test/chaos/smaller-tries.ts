/**
 * What Weir tries in place of a refused request, since its size may have been the reason: the newest part of the view, for that
 * call only. It begins later than the view, and everything else that is true of a request is true of it.
 */
import type { TurnRequest } from "./chaos-model.ts";
import { markOf } from "./texts.ts";

/**
 * Whether a request begins later than the one with which its answer began, and only refusals lie between them. With a summary
 * that this one had not, the view itself has moved: a turn that is begun again shows it.
 */
export function isSmallerTry(request: TurnRequest): boolean {
  const [whole] = refusedBefore(request);
  const [first] = marksOf(request);
  if (whole === undefined || first === undefined) return false;
  const isOfThatView = request.summaries.every((one) => whole.summaries.includes(one));
  return isOfThatView && marksOf(whole).indexOf(first) > 0;
}

/** The marks of what it shows, without lines that have none, such as of a message whose words are gone. */
function marksOf({ lines }: TurnRequest): string[] {
  return lines.flatMap((line) => markOf(line) ?? []);
}

/** What is wrong with a smaller try, beside its beginning. */
export function problemsOfTry(request: TurnRequest): string[] {
  const before = refusedBefore(request).at(-1);
  if (before === undefined || !isSmallerTry(request)) return [];
  if (request.bytes === before.bytes) return ["a smaller try was refused and sent again as it was"];
  if (request.size <= before.size) return [];
  return [`a try of ${request.size} characters came in place of a refused request of ${before.size}`];
}

/** The refused requests for the same answer: those before it were for other messages. */
function refusedBefore(request: TurnRequest): readonly TurnRequest[] {
  const { refused } = request;
  return refused.slice(refused.findLastIndex((one) => answeredIn(one) !== answeredIn(request)) + 1);
}

/** The last message that a request is to answer: a turn has the same in all its requests, and no two turns have it. */
function answeredIn({ lines, rawLines }: TurnRequest): string | undefined {
  const last = lines[rawLines - 1];
  return last === undefined ? undefined : (markOf(last) ?? last);
}
