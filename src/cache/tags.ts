/** Tags, filled (their meaning is said at `Tag` in catalogue/endpoint.ts): what a read bears, what a write makes stale. */
import type { CachePolicy, ConditionalTags, Tag, WriteEndpoint } from '../catalogue/endpoint.ts'
import type { EdgeRequest } from '../core/request.ts'
import { ownField } from '../core/values.ts'

/** `master` is the name of the master. */
export type ResolveTags = (ask: EdgeRequest, master: string) => readonly Tag[]

/** Text, or the place that a value is taken from. */
type Part = string | { readonly from: string; readonly name: string }

interface Values {
  readonly ask: EdgeRequest
  readonly master: string
  /** `data` of a successful answer; absent: there is none, or not yet. */
  readonly data?: unknown
}

/**
 * What a read bears: the record's own tags, the whole of each family that one of them is filled from (`agent:*` beside
 * `agent:001`), and what `/cache` clears by.
 */
export function compileReadTags(keep: Extract<CachePolicy, { tags: readonly Tag[] }>): ResolveTags {
  const templates = keep.tags.map(parseTag)
  const whole = templates.filter(isOpen).map((parts) => parts.map((part) => (isText(part) ? part : '*')).join(''))
  const always = ['cache', `cache:${keep.group}`, ...whole]
  return (ask, master) => {
    // What a node says of itself as a part of a joined answer is its own, not the master's.
    const values = { ask, master: ask.node ?? master }
    const node = ask.node === undefined ? [] : [`node:${ask.node}`, 'node:*']
    return [...new Set([...always, ...templates.flatMap((parts) => fill(parts, values)), ...node])]
  }
}

export interface InvalidatedTags {
  /** Known before the request is sent. */
  readonly fromRequest: readonly Tag[]
  /** Named by the answer; `data` absent or without the name: all of the family, since any of them may be touched. */
  fromResponse(data?: unknown): readonly Tag[]
}

/** What a write makes stale. */
export function invalidatedTags(record: WriteEndpoint, ask: EdgeRequest, master: string): InvalidatedTags {
  const templates = record.invalidates.flatMap((entry) => touched(entry, ask)).map(parseTag)
  const filled = (chosen: readonly (readonly Part[])[], data?: unknown) => [
    ...new Set(chosen.flatMap((parts) => fill(parts, { ask, master, data }))),
  ]
  const later = templates.filter(needsResponse)
  return {
    fromRequest: filled(templates.filter((parts) => !needsResponse(parts))),
    fromResponse: (data) => filled(later, data),
  }
}

/** One name for what a write must have for itself; of several values, all of them. */
export function lockNameOf(template: Tag, ask: EdgeRequest, master: string): string {
  return fill(parseTag(template), { ask, master }).join(' ')
}

function touched(entry: Tag | ConditionalTags, ask: EdgeRequest): readonly Tag[] {
  if (typeof entry === 'string') return [entry]
  const [from = '', name = ''] = split(entry.value)
  const pattern = new RegExp(entry.matches)
  return valuesOf({ from, name }, { ask, master: '' }, false).some((value) => pattern.test(value)) ? entry.tags : []
}

/** `agent:{body.ids}` as text and places; values never pass through here, so braces in them mean nothing. */
export function parseTag(tag: Tag): readonly Part[] {
  return tag.split(/(\{[^}]*\})/).flatMap((piece): Part[] => {
    if (piece === '') return []
    if (!piece.startsWith('{')) return [piece]
    const [from = '', name = ''] = split(piece.slice(1, -1))
    return [{ from, name }]
  })
}

/** `body.ids` → body, ids; `agent_id` → path, agent_id; `master` stands for itself. */
function split(place: string): readonly string[] {
  if (place === 'master') return ['master', '']
  const dot = place.indexOf('.')
  return dot < 0 ? ['path', place] : [place.slice(0, dot), place.slice(dot + 1)]
}

function isText(part: Part): part is string {
  return typeof part === 'string'
}

function isOpen(parts: readonly Part[]): boolean {
  return parts.some((part) => !isText(part))
}

export function needsResponse(parts: readonly Part[]): boolean {
  return parts.some((part) => !isText(part) && part.from === 'answer')
}

/** Beyond so many values of one place the whole family is meant: one tag instead of thousands. */
const MOST_NAMED = 50

/** One tag for each value of a place, none where there is no value. */
function fill(parts: readonly Part[], values: Values): readonly Tag[] {
  return parts.reduce<readonly string[]>(
    (heads, part) => {
      const ends = isText(part) ? [part] : limited(valuesOf(part, values, true))
      return heads.flatMap((head) => ends.map((end) => head + end))
    },
    [''],
  )
}

function limited(values: readonly string[]): readonly string[] {
  return values.length > MOST_NAMED ? ['*'] : values
}

/** `listed`: commas separate values, as the manager reads lists of a query. */
function valuesOf({ from, name }: Exclude<Part, string>, values: Values, listed: boolean): readonly string[] {
  const { ask, master, data } = values
  if (from === 'master') return [master]
  if (from === 'path') return texts(ownField(ask.params, name))
  if (from === 'body') return texts(ask.body?.kind === 'fields' ? ownField(ask.body.fields, name) : undefined)
  if (from === 'answer') return answered(ownField(data, name))
  return texts(ownField(ask.query, name)).flatMap((text) => (listed ? text.split(',') : [text]))
}

/** Whatever cannot be read as names may have named anything. */
function answered(value: unknown): readonly string[] {
  const all = Array.isArray(value) ? value : [value]
  return all.every((one) => typeof one === 'string' || typeof one === 'number') ? all.map(String) : ['*']
}

function texts(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value.map(String) : [String(value)]
}
