/** Checks which responses may be stored, and that writes invalidate everything that they change. */
import type { Endpoint, StaleLimit, Tag, WriteEndpoint } from '../../../../src/contracts/endpoint.ts'
import { type Check, faults, fieldsOf, idOf, isRead, isWrite, partOf, pathNames } from './record-facts.ts'
/** `src/cache/tags.ts` gives this tag to each stored response. */
export const OF_ALL: Tag = 'cache'

export const checkCachePolicy: Check = (record, all) => {
  if (!isRead(record) || 'never' in record.cache) return []
  const { tags } = record.cache
  const wild = tags.filter((tag) => isInvalidatedAsWhole(tag, all) && !tags.includes(wholeOf(tag)))
  return faults(
    [record.secret !== 'none', 'it may contain a secret but is stored; set cache to {never: reason}'],
    [record.target.kind === 'edge', 'the edge answers it itself; set cache to {never: reason}'],
    [tags.length === 0, 'it is stored without a tag, so no write invalidates it; name the data that it depends on'],
    ...tags.map((tag) => [!fills(tag, record), unfilled(tag)] as const),
    ...wild.map((tag) => [true, `writes invalidate ${wholeOf(tag)}; add that tag beside ${tag}`] as const),
  )
}

export const checkInvalidation: Check = (record, all) => {
  if (!isWrite(record)) return []
  const { invalidates, invalidatesNothingBecause } = record
  const tags = tagsOf(record)
  const wrong = tags.filter((tag) => fills(tag, record) && !all.some((other) => hasTag(other, tag)))
  return faults(
    [
      invalidates.length === 0 && invalidatesNothingBecause === undefined,
      'it invalidates nothing; add tags, or give the reason in invalidatesNothingBecause',
    ],
    [
      invalidates.length > 0 && invalidatesNothingBecause !== undefined,
      'it has tags and invalidatesNothingBecause; remove the latter',
    ],
    ...tags.map((tag) => [!fills(tag, record), unfilled(tag)] as const),
    ...wrong.map((tag) => [true, `no stored read has the tag ${tag}; correct or remove it`] as const),
    ...conditions(record),
  )
}

/** Parts of a joined response are stored separately: a write that invalidates a part must invalidate the whole too. */
export const checkInvalidationOfJoined: Check = (record, all) => {
  const part = partOf(record, all)
  if (part === undefined || !isRead(record) || 'never' in record.cache) return []
  if ('never' in part.cache) return [`${idOf(part)} is never stored but this record is; set cache to {never: reason}`]
  if (strictnessOf(part.cache) > strictnessOf(record.cache)) {
    return [`${idOf(part)} is served stale less than this record; set stale of its cache to '${part.cache.stale}'`]
  }
  const own = record.cache.tags
  const parts = part.cache.tags
  const families = parts.map(familyOf)
  const incomplete = all.filter(isWrite).filter((write) => {
    const invalidatesPart = (tag: Tag) => families.includes(familyOf(tag)) || parts.includes(tag)
    return groupsOf(write).some((tags) => tags.some(invalidatesPart) && !tags.some((tag) => own.includes(tag)))
  })
  return incomplete.map(
    (write) => `${idOf(write)} invalidates parts of it but not the whole; add one of ${own.join(', ')} there`,
  )
}

function strictnessOf({ stale }: { readonly stale?: StaleLimit }): number {
  if (stale === undefined) return 0
  return stale === 'whileHot' ? 1 : 2
}

/** Returns the tags that a write invalidates in any case, and the tags under each condition in addition. */
function groupsOf({ invalidates }: WriteEndpoint): readonly (readonly Tag[])[] {
  const always = invalidates.filter((entry) => typeof entry === 'string')
  const conditional = invalidates.flatMap((entry) => (typeof entry === 'string' ? [] : [[...always, ...entry.tags]]))
  return [always, ...conditional]
}

function conditions(record: WriteEndpoint): readonly (readonly [boolean, string])[] {
  return record.invalidates.flatMap((entry) => {
    if (typeof entry === 'string') return []
    return [
      [!known(entry.value, record), `${entry.value} does not exist; name a parameter of the query or a field`] as const,
      [!entry.matches.startsWith('^'), `the pattern ${entry.matches} is not anchored; begin it with ^`] as const,
    ]
  })
}

/** Returns the tags that a write invalidates, under whatever condition. */
export function tagsOf(record: WriteEndpoint): readonly Tag[] {
  return record.invalidates.flatMap((entry) => (typeof entry === 'string' ? [entry] : entry.tags))
}

function placeholders(tag: Tag): readonly string[] {
  return [...tag.matchAll(/\{([^}]*)\}/g)].map((match) => match[1] ?? '')
}

/**
 * Returns whether every placeholder is known when the tag is filled. The tags of a read are filled before its response.
 */
export function fills(tag: Tag, record: Endpoint): boolean {
  return placeholders(tag).every((name) => name === 'master' || name === 'caller' || known(name, record))
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
  return `${tag} has an unknown placeholder; use a path parameter, {query.…}, {body.…} or, in a write, {answer.…}`
}

/** Returns the tag without the names of placeholders: `agent:{agent_id}` and `agent:{answer.id}` name the same data. */
function familyOf(tag: Tag): string {
  return tag.replaceAll(/\{[^}]*\}/g, '{}')
}

function wholeOf(tag: Tag): Tag {
  return tag.replaceAll(/\{[^}]*\}/g, '*')
}

/** The accepted tokens of the manager's users (access/stored-acceptances.ts) are stored with these tags. */
const OF_TOKENS: ReadonlySet<Tag> = new Set(['rights', 'tokens:{caller}'])

function hasTag(record: Endpoint, tag: Tag): boolean {
  if (!isRead(record) || 'never' in record.cache) return false
  if (tag === OF_ALL || OF_TOKENS.has(tag)) return true
  return record.cache.tags.some((own) => familyOf(own) === familyOf(tag))
}

/** Returns whether a write invalidates all data of this kind at once, by `*` or because its response may be lost. */
function isInvalidatedAsWhole(tag: Tag, all: readonly Endpoint[]): boolean {
  if (placeholders(tag).length === 0) return false
  return all
    .filter(isWrite)
    .flatMap(tagsOf)
    .some(
      (invalidated) =>
        invalidated === wholeOf(tag) || (invalidated.includes('{answer.') && wholeOf(invalidated) === wholeOf(tag)),
    )
}
