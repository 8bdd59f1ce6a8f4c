/** What the replay does not demand, each with its reason. */
import type { Reason } from './classic-request.ts'

/**
 * Endpoints whose translation is not complete yet: the replay reports their differences as comments. The list only
 * shrinks; it is empty when the newer layout is served completely.
 */
export const openEndpoints: readonly RegExp[] = [
  / \/active-response/,
  /^(?:POST|PUT|DELETE) \/agents/,
  /^GET \/agents(?:$|\/(?!summary$))/,
  / \/cluster\b/,
  / \/manager\b/,
  / \/ciscat\b/,
  / \/experimental\b/,
  / \/decoders\b/,
  / \/rules\b/,
  / \/lists\b/,
  / \/rootcheck\b/,
  / \/syscheck\b/,
  / \/sca\b/,
  / \/syscollector\b/,
  / \/summary\b/,
]

/** Exchanges that differ on purpose, by their lines in the recording. */
export const explained: ReadonlyMap<number, string> = new Map<number, string>([])

/** The number of recorded exchanges that no classic request gives, by reason. */
export const withoutClassicRequest: Readonly<Record<Reason, number>> = {
  noSuchCall: 119,
  classicWord: 10,
  flag: 2,
  padded: 6,
  pages: 2,
  polled: 1,
  emptyValue: 6,
  mediaType: 14,
  severalTargets: 11,
  incomplete: 11,
  onlyNewer: 43,
  form: 11,
  placeholder: 1,
  cache: 4,
  ownRestart: 1,
  unfilteredAgents: 105,
}

/** Endpoints for which a node of the newer layout has no call, so that nothing of them was recorded but its refusal. */
export const withoutCall: readonly string[] = ['DELETE /cluster/:node_id/files']
