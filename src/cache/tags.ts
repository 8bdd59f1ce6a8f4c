/** The tags that reads carry and writes invalidate, made from the templates of a record (`Tag` in contracts/endpoint.ts). */
import type { CachePolicy, ConditionalTags, Tag, WriteEndpoint } from '../contracts/endpoint.ts'
import { type EdgeRead, type EdgeRequest, type EdgeWrite, fieldsOf, onlyNodeOf } from '../core/request.ts'
import { ownField } from '../core/values.ts'
import { endpointTag } from './stores/epochs.ts'

/** A place in a template, in the request or response that a value is taken from, with the text around it. */
const FIRST_PLACE = /^([^{]*)\{([^}]*)\}(.*)$/s
const EACH_PLACE = /\{[^}]*\}/g

interface TemplateValues {
  readonly request: EdgeRequest
  readonly master: string
  /** `data` of a successful response; absent before the response, and without a successful one. */
  readonly data?: unknown
}

/**
 * A read carries the tags of its record, the wildcard of each family (`agent:*` beside `agent:001`), and the tags that
 * `DELETE /cache` uses.
 */
export function compileReadTags(
  { tags, group }: Extract<CachePolicy, { tags: readonly Tag[] }>,
  name: string,
): (request: EdgeRead, master: string) => readonly Tag[] {
  const families = tags.filter((tag) => tag.includes('{')).map((tag) => tag.replaceAll(EACH_PLACE, '*'))
  const fixed = ['cache', `cache:${group}`, endpointTag(name), ...families]
  return (request, master) => {
    const node = onlyNodeOf(request)
    // The part of one node in a joined response is data of that node, not of the master.
    const values = { request, master: node ?? master }
    const found = new Set(fixed)
    for (const tag of tags) for (const each of expand(tag, values)) found.add(each)
    if (node !== undefined) found.add(`node:${node}`).add('node:*')
    return [...found]
  }
}

export type InvalidatedTags = ReturnType<typeof invalidatedTags>

/** Returns the tags that a write invalidates; `master` is the name of the master node. */
export function invalidatedTags(record: WriteEndpoint, request: EdgeWrite, master: string) {
  const ofRequest: Tag[] = []
  const ofResponse: Tag[] = []
  for (const entry of record.invalidates) {
    for (const template of applicableTags(entry, request))
      (needsResponse(template) ? ofResponse : ofRequest).push(template)
  }
  return {
    /** Known before the request is sent to a node. */
    fromRequest: expandAll(ofRequest, { request, master }),
    /** Whether the response names more. */
    needsResponse: ofResponse.length > 0,
    /** Named by the response. Without `data`, or without the named field in it, the wildcard of the family. */
    fromResponse: (data?: unknown) => expandAll(ofResponse, { request, master, data }),
  }
}

function expandAll(templates: readonly Tag[], values: TemplateValues): readonly Tag[] {
  const found = new Set<Tag>()
  for (const template of templates) for (const tag of expand(template, values)) found.add(tag)
  return [...found]
}

/** Returns the name of the write lock of a request; several values make one name. */
export function lockNameOf(template: Tag, request: EdgeWrite, master: string): string {
  return expand(template, { request, master }).join(' ')
}

function applicableTags(entry: Tag | ConditionalTags, request: EdgeWrite): readonly Tag[] {
  if (typeof entry === 'string') return [entry]
  const pattern = new RegExp(entry.matches)
  const values = valuesOf(entry.value, { request, master: '' }, false)
  return values.some((value) => pattern.test(value)) ? entry.tags : []
}

/** Returns the pattern of the tags that a template makes, where `anyValue` is the pattern of its values. */
export function patternOf(template: Tag, anyValue: string): string {
  const texts = template.split(EACH_PLACE)
  return texts.map((text) => text.replaceAll(/\W/g, '\\$&')).join(anyValue)
}

export function needsResponse(template: Tag): boolean {
  return template.includes('{answer.')
}

/** A place with more values is expanded to the wildcard of the family: one tag instead of thousands. */
const MAX_VALUES_PER_PLACE = 50

/**
 * Returns one tag for each value of a place, none if there is no value. Values are never parsed, so braces in them have no
 * meaning.
 */
function expand(template: Tag, values: TemplateValues): readonly Tag[] {
  const [, before = '', place, after = ''] = (template.includes('{') && FIRST_PLACE.exec(template)) || []
  if (place === undefined) return [template]
  const found = valuesOf(place, values, true)
  const chosen = found.length > MAX_VALUES_PER_PLACE ? ['*'] : found
  const endings = expand(after, values)
  const tags: Tag[] = []
  for (const value of chosen) for (const ending of endings) tags.push(before + value + ending)
  return tags
}

/**
 * `body.ids` is the field `ids` of the body, `agent_id` is in the path, `master` is the name of the master node, `caller` that of
 * the user. `isList`: commas in a query value separate values, as the manager parses it.
 */
function valuesOf(place: string, { request, master, data }: TemplateValues, isList: boolean): readonly string[] {
  if (place === 'master') return [master]
  if (place === 'caller') return [request.caller.name]
  const dot = place.indexOf('.')
  const [from, name] = [place.slice(0, Math.max(0, dot)), place.slice(dot + 1)]
  if (from === '') return textsOf(ownField(request.params, name))
  if (from === 'body') return textsOf(ownField(fieldsOf(request), name))
  if (from === 'answer') return responseValues(ownField(data, name))
  return textsOf(ownField(request.query, name)).flatMap((text) => (isList ? text.split(',') : [text]))
}

/** A value that is not a name or a list of names gives the wildcard: any member of the family may have changed. */
function responseValues(value: unknown): readonly string[] {
  const values = Array.isArray(value) ? value : [value]
  return values.every((each) => typeof each === 'string' || typeof each === 'number') ? values.map(String) : ['*']
}

function textsOf(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value.map(String) : [String(value)]
}
