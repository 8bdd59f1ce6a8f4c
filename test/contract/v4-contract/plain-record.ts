/** Records of the v4 contract in the form of `description.ts`, as releases 4 or release 5.0 have them. */
import type { Body, Param, V4Endpoint } from '../../../src/contracts/endpoint.ts'
import type { Releases, Text, Value } from '../../../src/contracts/v4/value.ts'
import type { Described } from './description.ts'

export type Generation = 'releases 4' | 'release 5.0'

export function nameOf({ method, path }: Pick<V4Endpoint, 'method' | 'path'>): string {
  return `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`
}

export function plainRecord(record: V4Endpoint, generation: Generation): Described {
  return {
    releases: record.releases ?? {},
    rights: record.rights ?? [],
    without: record.withoutFlags ?? [],
    path: plainParams(record.params, generation),
    query: plainParams(record.query, generation),
    body: 'body' in record && record.body !== undefined ? plainBody(record.body, generation) : undefined,
  }
}

export function isIn({ since, until }: Releases = {}, generation: Generation): boolean {
  return generation === 'releases 4' ? since !== '5.0' : until === undefined
}

/** Without the end that release 5.0 makes. */
function earlierOf({ until, ...releases }: Releases = {}): Releases {
  return { ...releases, ...(until !== undefined && until !== '4.14' && { until }) }
}

function plainBody(body: Body, generation: Generation): Described {
  const type = body.types.join()
  if (body.kind === 'upload') return { type }
  const members = Object.entries(body.fields).map(([name, { required, value }]) => [
    required === undefined ? `${name}?` : name,
    value && plainValue(value, generation),
  ])
  return { type, ...(body.open && { open: true }), members: Object.fromEntries(members) }
}

function plainParams(params: Readonly<Record<string, Param>>, generation: Generation): Described {
  const had = Object.entries(params).filter(([, { value }]) => isIn(value?.releases, generation))
  return Object.fromEntries(
    had.map(([name, { value, required }]) => [
      name,
      { ...(value && plainValue(value, generation)), ...(required !== undefined && { required: true }) },
    ]),
  )
}

/** Without what only the error texts of the manager have. */
function plainValue({ releases: all, ...value }: Value, generation: Generation): Described {
  const earlier = generation === 'releases 4' ? earlierOf(all) : {}
  const releases = Object.keys(earlier).length > 0 && { releases: earlier }
  if (value.type === 'array') return { ...value, ...releases, items: plainValue(value.items, generation) }
  if (value.type === 'object') {
    const members = Object.entries(value.members ?? {}).map(([name, member]) => [name, plainValue(member, generation)])
    return { ...value, ...(value.members && { members: Object.fromEntries(members) }) }
  }
  return { ...(value.type === 'string' ? plainText(value, generation) : value), ...releases }
}

function plainText(value: Text, generation: Generation): Described {
  const { description: _, reference: __, minItems: ___, laterFormat, wordReleases = {}, words, ...others } = value
  const having = words?.filter((word) => isIn(wordReleases[word], generation))
  const ofWords = Object.entries(wordReleases)
    .map(([word, releases]) => [word, earlierOf(releases)] as const)
    .filter(([word, releases]) => having?.includes(word) && Object.keys(releases).length > 0)
  const later = generation === 'release 5.0' ? laterFormat : undefined
  return {
    ...others,
    ...(later && { format: later.format }),
    ...(having && { words: having }),
    ...(generation === 'releases 4' && ofWords.length > 0 && { wordReleases: Object.fromEntries(ofWords) }),
  }
}
