import type { FeatureKey } from "../../core/feature-key.ts";
import type { ApprovalDesk } from "./approval-desk.ts";
import type { ApprovalStore } from "./approval-store.ts";

/** What commands work with. */
export interface Approvals extends Pick<ApprovalDesk, "decide"> {
  readonly store: Pick<ApprovalStore, "find" | "open" | "rules" | "endRule">;
}

export const APPROVALS: FeatureKey<Approvals> = { name: "approvals" };
