/** What `check --connect` and `doctor` have found about one part of the surroundings. */
export interface Finding {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed'
  readonly text: string
  /** A command, or a setting. */
  readonly fix?: string
}

/** `reason` has the form of messages for operators: the cause, and after the first "; " what to do. */
export function failure(check: string, reason: string): Finding {
  const [text = reason, fix] = reason.split(/; (.*)/s)
  return { check, status: 'failed', text, ...(fix !== undefined && { fix }) }
}

/** Returns the line that `check --connect` prints. */
export function describeFinding({ check, status, text, fix }: Finding): string {
  const start = { ok: check, warning: 'warning', failed: `${check}: failed` }[status]
  return `${start}: ${text}${fix === undefined ? '' : `; ${fix}`}`
}
