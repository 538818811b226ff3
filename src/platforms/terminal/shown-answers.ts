import { BoundedMap } from "../../async/bounded-map.ts";
import type { OutboundMessage } from "../../core/message.ts";
import { cellWidth } from "../../text/columns.ts";
import { displayable, displayableLine, heldBack } from "../../text/displayable.ts";
import { MarkdownDrawer, type Place } from "./drawing/markdown-drawer.ts";
import type { Style } from "./style.ts";

/** Most answers whose shown text is remembered, so that an edit prints only its addition. */
const MAX_REMEMBERED = 32;
const CONTINUED = "… ";

interface Shown {
  readonly text: string;
  /** Null: the text is shown as it is written. */
  readonly drawer: MarkdownDrawer | null;
}

/** Keeps the text of each recent answer that is on the screen, and computes the output that completes it. */
export class ShownAnswers {
  readonly #agent: string;
  readonly #colour: boolean;
  readonly #style: Style;
  /** By the id of the answer. */
  readonly #shown = new BoundedMap<Shown>(MAX_REMEMBERED);
  #isRaw = false;

  /** @param agent the speaker of messages that name none */
  constructor(agent: string, colour: boolean, style: Style) {
    this.#agent = agent;
    this.#colour = colour;
    this.#style = style;
  }

  /** Later answers are shown as they are written, or drawn. @returns true: as they are written */
  toggleRaw(): boolean {
    this.#isRaw = !this.#isRaw;
    return this.#isRaw;
  }

  /**
   * @param isGrowing the text above the input ends with this answer
   * @returns the output at the cursor
   */
  additionTo(id: string, message: OutboundMessage, place: Place, isGrowing: boolean): string {
    const text = message.text.trimStart();
    // White space at the end of a piece waits for the next piece: an answer ends without it.
    const visible = text.slice(0, message.final ? undefined : text.length - heldBack(text)).trimEnd();
    const last = this.#shown.get(id);
    const row = place.column > 0 ? "\n" : "";
    if (last === undefined) return row + this.#begin(id, visible, message, place);
    if (!visible.startsWith(last.text)) {
      const mark = this.#style.quiet("(the answer starts again)");
      return `${row}${mark}\n${this.#begin(id, visible, message, place)}`;
    }
    this.#shown.set(id, { ...last, text: visible });
    const more = visible.slice(last.text.length);
    if (isGrowing) return draw(last.drawer, more, place, message.final);
    // Other output came between, so the answer continues below it.
    last.drawer?.restart();
    const behind = { ...place, column: cellWidth(CONTINUED) };
    const suffix = draw(last.drawer, last.drawer === null ? more.trimStart() : more, behind, message.final);
    return suffix === "" ? "" : `${row}${this.#style.quiet(CONTINUED)}${suffix}`;
  }

  /** The held back word of a growing answer, after a pause. */
  pause(id: string, place: Place): string {
    return this.#shown.get(id)?.drawer?.pause(place) ?? "";
  }

  #begin(id: string, visible: string, message: OutboundMessage, place: Place): string {
    const drawer = this.#isRaw ? null : new MarkdownDrawer(this.#colour);
    this.#shown.set(id, { text: visible, drawer });
    const isNotice = message.kind === "notice";
    const label = isNotice ? "weir> " : `${displayableLine(message.speaker ?? this.#agent)}> `;
    const behind = { ...place, column: cellWidth(label) };
    return this.#style[isNotice ? "quiet" : "agent"](label) + draw(drawer, visible, behind, message.final);
  }
}

/** The output for an addition to an answer. */
function draw(drawer: MarkdownDrawer | null, text: string, place: Place, isFinal: boolean): string {
  if (drawer === null) return displayable(text);
  return drawer.draw(text, place) + (isFinal ? drawer.end() : "");
}
