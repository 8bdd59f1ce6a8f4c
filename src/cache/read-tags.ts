/** Which tags a stored response can have: those that the records of cacheable reads name, with any values. */
import type { Endpoint, Tag } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import { compilePolicy, isText, parseTag } from './policy.ts'
import { endpointTag } from './stores/epochs.ts'

const readTag = new RegExp(`^(?:${[...new Set(catalogue.flatMap(patternsOf))].join('|')})$`)

export function mayBeReadTag(tag: Tag): boolean {
  return readTag.test(tag)
}

/** A placeholder matches any value, `*` included: each family has a tag for all of its values. */
function patternsOf(record: Endpoint): readonly string[] {
  const policy = compilePolicy(record)
  if (typeof policy === 'string' || !('cache' in record) || 'never' in record.cache) return []
  const named = record.cache.tags.map((tag) =>
    parseTag(tag)
      .map((part) => (isText(part) ? escaped(part) : '.+'))
      .join(''),
  )
  return [...['cache', `cache:${policy.group}`, endpointTag(record.path)].map(escaped), ...named, 'node:.+']
}

function escaped(text: string): string {
  return text.replaceAll(/\W/g, '\\$&')
}
