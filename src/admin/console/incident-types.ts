/** JSON bodies of `GET /api/incidents` and of the webhook. Times are milliseconds since 1970. */
import type { Problem } from './api-types.ts'

export type IncidentProblem = Pick<Problem, 'kind' | 'summary' | 'view'>

/** What an incident meant for the requests of one caller. */
export interface AffectedCaller {
  readonly name: string
  /** Requests that were answered with a stored response after its freshness lifetime. */
  readonly stale: number
  /** Responses with a 5xx status. */
  readonly failed: number
}

/** A time in which at least one problem of severity `error` existed on at least one replica. */
export interface Incident {
  readonly since: number
  /** Absent: the incident is not over. */
  readonly until?: number
  /** The problems in the order of their begin, each kind once, with its latest text. */
  readonly problems: readonly IncidentProblem[]
  /** Requests to the replicas that saw a problem, as in `AffectedCaller`. */
  readonly stale: number
  readonly failed: number
  /** The most affected callers first. */
  readonly callers: readonly AffectedCaller[]
  /** The replicas that saw a problem. */
  readonly replicas: readonly string[]
  /** The incident in one sentence or two. */
  readonly text: string
  /** The incident as Markdown, to be copied. */
  readonly markdown: string
}

/** `GET /api/incidents`. The newest incident comes first. */
export interface Incidents {
  readonly incidents: readonly Incident[]
}

/** What the webhook receives. */
export interface IncidentNotice {
  readonly event: 'begin' | 'end'
  /** `incident.text`, where chat programs look for the text of a message. */
  readonly text: string
  readonly incident: Incident
}
