/** Derives the details of a request from its record, when an operator opens it. */

import { forwardReasons, isStaleIfError, OUTAGE, WITHOUT_REDIS } from '../../../src/core/cache.ts'
import { type ErrorCode, errorTable } from '../../../src/core/errors.ts'
import type { NodeCallEvent, RequestEvent } from '../../../src/core/events.ts'
import type { SpanAttributes } from '../../../src/core/trace.ts'
import { type FoundRequest, type Measurements, type StageRecord, tailRequestOf } from './request-records.ts'
import type { CacheDecision, CallTime, RequestDetails, StageTime } from './request-types.ts'

export function requestDetailsOf({ event, measured }: FoundRequest): RequestDetails {
  const { errorCode } = event
  /** When the head of the request arrived. */
  const beganAt = event.endedAt - event.ms
  return {
    request: tailRequestOf(event, measured),
    ...(errorCode !== undefined && { error: { code: errorCode, text: errorTable[errorCode as ErrorCode].message } }),
    cache: cacheDecisionOf(event),
    stages: measured === undefined ? [] : stagesOf(measured, event, beganAt),
    calls: measured?.calls.map(({ at: callEndedAt, event: call }) => callOf(call, callEndedAt - beganAt)) ?? [],
    ...(measured?.join && { joined: { ms: measured.join.ms, nodes: measured.join.nodes } }),
    omitted: measured?.omitted ?? 0,
  }
}

/** No stage is measured before the cache lookup, so their time is shown as one. */
const FAST_PATH_STAGE = 'admission, validation and cache lookup'

function stagesOf({ stages }: Measurements, { cache }: RequestEvent, beganAt: number): readonly StageTime[] {
  const [first] = stages
  const times = nested(stages, undefined, 0).map(([stage, depth]) => stageOf(stage, depth, beganAt))
  // The stages of a hit are those of a refresh in the background.
  if (first === undefined || first.name === 'authenticate' || cache === 'hit') return times
  return [{ name: FAST_PATH_STAGE, depth: 0, start: 0, ms: rounded(first.startedAt - beganAt), notes: [] }, ...times]
}

type NestedStage = readonly [stage: StageRecord, depth: number]

/** Returns the stages within `parent`, each followed by the stages within it. Parts of a joined response overlap in time. */
function nested(stages: readonly StageRecord[], parent: StageRecord | undefined, depth: number): NestedStage[] {
  return stages
    .filter((stage) => stage.parent === parent)
    .flatMap((stage): NestedStage[] => [[stage, depth], ...nested(stages, stage, depth + 1)])
}

function stageOf({ name, startedAt, endedAt, attributes }: StageRecord, depth: number, beganAt: number): StageTime {
  const { node } = attributes
  return {
    name,
    depth,
    start: rounded(startedAt - beganAt),
    ...(endedAt !== undefined && { ms: rounded(endedAt - startedAt) }),
    ...(node !== undefined && { node }),
    notes: notesOf(attributes),
  }
}

function notesOf({ method, route, cache, stored, collapsed, resend, status, error, fault }: SpanAttributes): string[] {
  return [
    ...(method === undefined ? [] : [`${method} ${route ?? ''}`]),
    ...(cache === undefined ? [] : [cache]),
    ...(stored ? ['stored'] : []),
    ...(collapsed ? ['collapsed'] : []),
    ...(resend === undefined ? [] : [`retry ${resend}`]),
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(error === undefined ? [] : [`error ${error}`]),
    ...(fault === undefined || fault === 'error' ? [] : [fault.replaceAll('_', ' ')]),
  ]
}

/** `end`: milliseconds from the head of the request to the end of the call. */
function callOf({ node, method, route, status, fault, ms, queueTime }: NodeCallEvent, end: number): CallTime {
  return {
    node,
    method,
    route,
    start: rounded(end - ms - queueTime),
    ms: rounded(ms),
    queueTime: rounded(queueTime),
    result: fault?.replaceAll('_', ' ') ?? String(status ?? '–'),
    failed: fault !== undefined || (status ?? 0) >= 500,
  }
}

/** Two clocks are compared, so a difference may be a little below zero. */
function rounded(ms: number): number {
  return Math.max(0, Math.round(ms * 100) / 100)
}

function cacheDecisionOf(event: RequestEvent): CacheDecision {
  const { cache: outcome, fetchTime, cacheStatus } = event
  return {
    outcome,
    reason: reasonOf(event),
    ...(cacheStatus?.ttl !== undefined && { timeLeft: cacheStatus.ttl }),
    ...(fetchTime !== undefined && { fetchTime }),
  }
}

/** The words are those of the response header `Cache-Status` (RFC 9211), in sentences. */
function reasonOf({ cache, cacheStatus, method, status }: RequestEvent): string {
  if (cacheStatus === undefined) {
    if (cache === 'none') return 'The request was rejected or failed before it reached the cache.'
    if (method !== 'GET' && method !== 'HEAD') return 'Writes are never answered from the cache.'
    return status >= 400
      ? 'Responses with an error are not stored.'
      : 'The cache was not used, or the response may not be stored.'
  }
  const { hit, fwd, collapsed, stored, detail } = cacheStatus
  if (typeof detail === 'object' && 'trial' in detail) {
    return `Read-only trial: the manager answered. The cache and the comparison: ${detail.trial}.`
  }
  if (detail === 'snapshot' && hit) return 'Computed from the stored snapshot of the collection, without a call.'
  if (detail === 'stale-while-revalidate') return 'A stale response was served while it is refreshed.'
  if (detail === WITHOUT_REDIS) return 'The local tier was served because Redis is unreachable (cache.withoutRedis).'
  if (detail === OUTAGE) return 'A stale response was served because no node answers (cache.outage).'
  if (isStaleIfError(detail)) {
    return `A stale response was served because nodes fail (error ${detail.error}).`
  }
  if (hit) return 'A fresh response was stored.'
  const why = forwardReasons[fwd ?? 'uri-miss'].text
  if (collapsed) return `${why} The request shared the fetch of another request.`
  return `${why} ${stored ? 'The fetched response was stored.' : 'The fetched response was not stored.'}`
}
