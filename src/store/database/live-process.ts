import { errorCode } from "../../core/errors.ts";

/** @returns true if a process of that number lives, whoever it belongs to; false for what is no number */
export function isLiveProcess(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and belongs to another account.
    return errorCode(error) === "EPERM";
  }
}
