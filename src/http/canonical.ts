/** Each value in its one canonical form, so that equal requests share a path, a key and a node's answer. */
import type { Canonical, Endpoint, Param } from '../catalogue/endpoint.ts'
import type { Values } from './parameters.ts'

/** `1` and `0001` both mean agent 001 (contract, semantics.md section 2, Ids). */
export function agentId(text: string): string {
  return text.replace(/^0+(?=\d)/, '').padStart(3, '0')
}

const forms: Readonly<Record<Canonical, (text: string) => string>> = {
  agentId,
  agentIds: (text) => text.split(',').map(agentId).join(','),
  agentIdSet: (text) => set(text.split(',').map(agentId)),
  nameSet: (text) => set(text.split(',')),
  lowerCase: (text) => text.toLowerCase(),
}

/** Where neither order nor doubles mean anything. */
function set(values: readonly string[]): string {
  return [...new Set(values)].sort().join(',')
}

export function canonicalText(canonical: Canonical | undefined, text: string): string {
  return canonical === undefined ? text : forms[canonical](text)
}

/** Only what the record knows, in the record's order. */
export function canonicalValues(described: Readonly<Record<string, Param>>, values: Values): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, param] of Object.entries(described)) {
    const value = values[name]
    if (value === undefined) continue
    // ` name` is what `sort=+name` becomes on its way through a URL; both mean ascending.
    const text = param.kind === 'sort' && value.startsWith(' ') ? `+${value.slice(1)}` : value
    result[name] = canonicalText(param.canonical, text)
  }
  return result
}

/** Form texts in the types that the record gives its fields; what does not fit stays text and is refused by the schema. */
export function typedFields(endpoint: Endpoint, values: Values): Record<string, unknown> {
  const fields = 'body' in endpoint && endpoint.body?.kind === 'fields' ? endpoint.body.fields : {}
  const result: Record<string, unknown> = Object.create(null)
  for (const [raw, value] of Object.entries(values)) {
    // `ids[]=001&ids[]=002` and `ids[0]=…` are how form encoders write lists.
    const listed = /^([A-Za-z_]+)\[[0-9]*\]$/.exec(raw)?.[1]
    const name = listed !== undefined && fields[listed]?.type === 'strings' ? listed : raw
    const type = Object.hasOwn(fields, name) ? fields[name]?.type : undefined
    const before = result[name]
    result[name] = Array.isArray(before) ? [...before, ...value.split(',')] : typed(type, value)
  }
  return result
}

function typed(type: string | undefined, value: string): unknown {
  if (type === 'integer') return /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  return type === 'strings' ? value.split(',') : value
}
