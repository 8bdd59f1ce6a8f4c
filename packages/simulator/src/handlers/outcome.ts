/** The response to a request that acts on several objects, some of which may fail: `error` is always 0. */
import type { FrameworkError } from '../model.ts'

export interface Failure {
  readonly id: string
  readonly error: { readonly message: string; readonly code: number }
}

/** Inside `failed_ids` the text is complete, including the part after its colon. */
export function failureOf({ code, message }: FrameworkError): Failure['error'] {
  return { message, code }
}

interface Texts {
  readonly all: string
  readonly some: string
}

export interface Outcome {
  readonly msg: string
  readonly affected_agents: readonly string[]
  readonly failed_ids?: readonly Failure[]
}

/** `failed_ids` is absent if nothing failed. */
export function affected({ all, some }: Texts, agents: readonly string[], failures: readonly Failure[] = []): Outcome {
  if (failures.length === 0) return { msg: all, affected_agents: agents }
  return { msg: some, affected_agents: agents, failed_ids: failures }
}
