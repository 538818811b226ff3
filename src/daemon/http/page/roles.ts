import type { ChannelRow } from "../../../store/channels/channels.ts";

/** Whose session it is: an operator sees all and acts; a viewer acts nowhere, and reads only what {@link mayRead} allows. */
export type Role = "operator" | "viewer";

/** What decides who may read a text. */
export interface Audience {
  /** Everybody of the workspace may read its channel today: {@link isPublic}. */
  readonly isOpen: boolean;
  /** So they could when its words were said, as far as is known: `PublicTextStore` has the rule. */
  readonly wasOpen: boolean;
}

/** Of texts that were said in private, or are the operator's: settings, errors of servers, the agents' folders. */
export const OPERATORS_ALONE: Audience = { isOpen: false, wasOpen: false };

/** Whether a role may read a text. Every place of the page asks this, and nothing else decides it. Pure. */
export function mayRead(role: Role, { isOpen, wasOpen }: Audience): boolean {
  return role === "operator" || (isOpen && wasOpen);
}

/** As for shared memories: a thread and a direct message are not, nor is a channel of which that is unknown. Pure. */
export function isPublic({ kind, isPrivate }: Pick<ChannelRow, "kind" | "isPrivate">): boolean {
  return kind === "channel" && isPrivate === false;
}

/** Stands in place of a text that a viewer may not read. */
export const NOT_SHOWN = "not shown to viewers";
