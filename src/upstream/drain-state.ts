/**
 * The text of the drains that replicas share. Other programs with access to the same Redis may have overwritten it.
 */
import { ownField, parseJson } from '../core/values.ts'

/** A node that receives no calls until the drain ends, or an operator puts it back. */
export interface Drain {
  readonly node: string
  /** The name of the operator. */
  readonly by: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** Of the operator, such as the number of a ticket. */
  readonly reason?: string
  /** The end, in milliseconds since 1970. Absent: until an operator puts the node back. */
  readonly until?: number
}

/** All drained nodes. Of two states, the one with the higher revision is newer; 0: no operator has drained a node yet. */
export interface DrainState {
  readonly revision: number
  readonly drains: readonly Drain[]
}

export const NO_DRAINS: DrainState = { revision: 0, drains: [] }

/** A state is compared with each heartbeat, so it is short. */
const MAX_DRAIN_STATE_BYTES = 65_536
const MAX_DRAINS = 256
const MAX_NAME_CHARS = 255
/** The greatest time of a `Date`. */
const MAX_TIME_MS = 8.64e15

/**
 * Returns the state after the next change. Revisions are times, so a state that follows a lost one is newer than it. After
 * the greatest revision, which only another program writes, all states have that one: replicas then use the state in Redis.
 */
export function nextState({ revision }: DrainState, drains: readonly Drain[], now: number): DrainState {
  return { revision: Math.min(MAX_TIME_MS, Math.max(revision + 1, Math.floor(now))), drains }
}

/** Returns ASCII, as all counters are. */
export function formatDrainState({ revision, drains }: DrainState): string {
  const toEscape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify({ revision, drains }).replace(/[\x80-\uffff]/g, toEscape)
}

/** Whether a replica that reads the state from Redis can use it: it ignores a state over the limits. */
export function isReadable(state: DrainState): boolean {
  return parseDrainState(formatDrainState(state)) !== undefined
}

/** Returns `undefined` for a text that is not a valid state. */
export function parseDrainState(text: string): DrainState | undefined {
  if (Buffer.byteLength(text) > MAX_DRAIN_STATE_BYTES) return undefined
  const value = parseJson(text)
  const [revision, drains] = [ownField(value, 'revision'), ownField(value, 'drains')]
  if (!isTime(revision) || !Array.isArray(drains) || drains.length > MAX_DRAINS) return undefined
  const parsed = drains.flatMap((each) => parseDrain(each) ?? [])
  const names = new Set(parsed.map(({ node }) => node))
  return names.size === drains.length ? { revision, drains: parsed } : undefined
}

function parseDrain(value: unknown): Drain | undefined {
  const [node, by, at] = [ownField(value, 'node'), ownField(value, 'by'), ownField(value, 'at')]
  const [reason, until] = [ownField(value, 'reason'), ownField(value, 'until')]
  if (!isName(node) || !isName(by) || !isTime(at)) return undefined
  if ((reason !== undefined && !isName(reason)) || (until !== undefined && !isTime(until))) return undefined
  return { node, by, at, ...(reason !== undefined && { reason }), ...(until !== undefined && { until }) }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME_CHARS
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TIME_MS
}
