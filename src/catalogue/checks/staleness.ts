import type { Endpoint, Tag, WriteEndpoint } from '../endpoint.ts'
import { type Check, faults, fieldsOf, idOf, isRead, isWrite, partOf, pathNames } from './record-facts.ts'
/** What may be kept, and which writes make it stale. */

export const kept: Check = (record, all) => {
  if (!isRead(record) || 'never' in record.cache) return []
  const { tags } = record.cache
  const wild = tags.filter((tag) => touchedAsWhole(tag, all) && !tags.includes(wholeOf(tag)))
  return faults(
    [record.secret !== 'none', 'it may hold a secret and is kept; set keep to {never: why}'],
    [record.target.kind === 'edge', 'the edge answers it itself; set keep to {never: why}'],
    [tags.length === 0, 'it is kept under no tag, so no write reaches it; name the data that it shows'],
    ...tags.map((tag) => [!fills(tag, record), unfilled(tag)] as const),
    ...wild.map((tag) => [true, `writes touch ${wholeOf(tag)}; name that tag beside ${tag}`] as const),
  )
}

export const stale: Check = (record, all) => {
  if (!isWrite(record)) return []
  const { invalidates: makesStale, invalidatesNothingBecause: staleNothing } = record
  const tags = tagsOf(record)
  const wrong = tags.filter((tag) => fills(tag, record) && !all.some((other) => bears(other, tag)))
  return faults(
    [
      makesStale.length === 0 && staleNothing === undefined,
      'it makes nothing stale; name tags, or say why in staleNothing',
    ],
    [
      makesStale.length > 0 && staleNothing !== undefined,
      'it makes data stale and says it does not; remove staleNothing',
    ],
    ...tags.map((tag) => [!fills(tag, record), unfilled(tag)] as const),
    ...wrong.map((tag) => [true, `no read that is kept bears ${tag}; mend its name or remove it`] as const),
    ...conditions(record),
  )
}

/** The parts of a joined answer are kept on their own: a write that drops one of them must drop the whole too. */
export const staleAsWhole: Check = (record, all) => {
  const part = partOf(record, all)
  if (part === undefined || !isRead(record) || 'never' in record.cache) return []
  if ('never' in part.cache) return [`${idOf(part)} is never kept and it is; set keep to {never: why}`]
  const own = record.cache.tags
  const parts = part.cache.tags
  const families = parts.map(familyOf)
  const leaving = all.filter(isWrite).filter((write) => {
    const dropsPart = (tag: Tag) => families.includes(familyOf(tag)) || parts.includes(tag)
    return groupsOf(write).some((tags) => tags.some(dropsPart) && !tags.some((tag) => own.includes(tag)))
  })
  return leaving.map(
    (write) => `${idOf(write)} drops parts of it and not the whole; add one of ${own.join(', ')} there`,
  )
}

/** What a write touches in any case, and what it touches besides under each condition. */
function groupsOf({ invalidates: makesStale }: WriteEndpoint): readonly (readonly Tag[])[] {
  const always = makesStale.filter((entry) => typeof entry === 'string')
  const conditional = makesStale.flatMap((entry) => (typeof entry === 'string' ? [] : [[...always, ...entry.tags]]))
  return [always, ...conditional]
}

function conditions(record: WriteEndpoint): readonly (readonly [boolean, string])[] {
  return record.invalidates.flatMap((entry) => {
    if (typeof entry === 'string') return []
    return [
      [!known(entry.value, record), `${entry.value} names nothing; name a parameter of the query or a field`] as const,
      [!entry.matches.startsWith('^'), `the pattern ${entry.matches} is not anchored; begin it with ^`] as const,
    ]
  })
}

function tagsOf(record: WriteEndpoint): readonly Tag[] {
  return record.invalidates.flatMap((entry) => (typeof entry === 'string' ? [entry] : entry.tags))
}

function placeholders(tag: Tag): readonly string[] {
  return [...tag.matchAll(/\{([^}]*)\}/g)].map((match) => match[1] ?? '')
}

/** Does everything in braces name a value that is there when the tag is filled? A read has its tags before its answer. */
export function fills(tag: Tag, record: Endpoint): boolean {
  return placeholders(tag).every((name) => name === 'master' || known(name, record))
}

function known(name: string, record: Endpoint): boolean {
  const [from, value] = name.includes('.')
    ? [name.slice(0, name.indexOf('.')), name.slice(name.indexOf('.') + 1)]
    : ['path', name]
  if (from === 'answer') return isWrite(record) && value !== ''
  const sources: Readonly<Record<string, readonly string[]>> = {
    path: pathNames(record),
    query: Object.keys(record.query),
    body: fieldsOf(record),
  }
  return sources[from]?.includes(value) ?? false
}

function unfilled(tag: Tag): string {
  return `${tag} is filled from nothing; name a value of the path, {query.…}, {body.…} or, in a write, {answer.…}`
}

/** `agent:{agent_id}` and `agent:{answer.id}` speak of the same data. */
function familyOf(tag: Tag): string {
  return tag.replaceAll(/\{[^}]*\}/g, '{}')
}

function wholeOf(tag: Tag): Tag {
  return tag.replaceAll(/\{[^}]*\}/g, '*')
}

function bears(record: Endpoint, tag: Tag): boolean {
  if (!isRead(record) || 'never' in record.cache) return false
  return record.cache.tags.some((own) => familyOf(own) === familyOf(tag))
}

/** Some write touches all of the family at once, by `*` or because its answer may not come. */
function touchedAsWhole(tag: Tag, all: readonly Endpoint[]): boolean {
  if (placeholders(tag).length === 0) return false
  return all
    .filter(isWrite)
    .flatMap(tagsOf)
    .some((touched) => touched === wholeOf(tag) || (touched.includes('{answer.') && wholeOf(touched) === wholeOf(tag)))
}
