/** An example request for each endpoint, with values that its record accepts, and an example response. */

import type { Body, Endpoint, Field, Param } from '../../../src/contracts/endpoint.ts'
import type { Kind } from '../../../src/contracts/schemas/kinds.ts'
import type { Format } from '../../../src/contracts/v4/formats.ts'
import type { Value } from '../../../src/contracts/v4/value.ts'
import { describedBody } from '../../../src/core/endpoint-names.ts'
import values from './example-values.json' with { type: 'json' }
import recorded from './examples.json' with { type: 'json' }

export interface Example {
  readonly method: string
  /** Path and query as a client writes them. */
  readonly url: string
  readonly contentType?: string
  /** A JSON body. */
  readonly body?: string
  /** The name of the file to upload. */
  readonly file?: string
}

/** A test checks these values against the patterns of their kinds. */
const valueByKind: Readonly<Record<Kind, string>> = values.byKind
/** Of parameters and fields that mean the same in every endpoint. */
const valueByName: Readonly<Record<string, string>> = values.byName
/** Of the v4 contract: texts by format, and members of bodies for which the format does not tell what is meant. */
const valueByFormat: Readonly<Record<Format, string>> = values.byFormat
const valueByMember: Readonly<Record<string, unknown>> = values.byMember
/** Of parameters for which the value by name is not valid in this path. */
const valueByPath: Readonly<Record<string, Readonly<Record<string, string>>>> = values.byPath

export function exampleOf(endpoint: Endpoint): Example {
  const { method, path } = endpoint
  const params: Readonly<Record<string, Param>> = endpoint.params
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(pathValue(path, name, params[name])),
  )
  const query = exampleQuery(endpoint).map(([name, param]) => `${name}=${encodeQueryValue(paramValue(name, param))}`)
  const url = [filled, ...(query.length > 0 ? [query.join('&')] : [])].join('?')
  return { method, url, ...exampleBody(endpoint) }
}

/** Returns a command for a shell, which reads the edge's address and the user from `EDGE` and `EDGE_USER`. */
export function curlOf(endpoint: Endpoint): string {
  const { method, url, contentType, body, file } = exampleOf(endpoint)
  return [
    'curl -u "$EDGE_USER"',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    ...(contentType ? [`-H 'Content-Type: ${contentType}'`] : []),
    ...(body ? [`-d '${body}'`] : []),
    ...(file ? [`--data-binary @${file}`] : []),
    `"$EDGE"'${url}'`,
  ].join(' ')
}

/** Required parameters and the first of `oneOf`; without these, the page size if the endpoint has pages. */
function exampleQuery({ query, oneOf }: Endpoint): [string, Param][] {
  const all = Object.entries(query)
  const needed = all.filter(([name, { required }]) => required !== undefined || name === oneOf?.[0])
  return needed.length > 0 ? needed : all.filter(([name]) => name === 'limit')
}

/** Returns a valid value of a parameter in the path. */
export function pathValue(path: string, name: string, param: Param | undefined): string {
  return valueByPath[path]?.[name] ?? paramValue(name, param)
}

function paramValue(name: string, param: Param | undefined): string {
  if (name === 'limit') return '5'
  return valueByName[name] ?? (param === undefined ? 'x' : (param.allowed?.[0] ?? valueByKind[param.kind]))
}

/** Slashes and commas are valid in a query and easier to read unescaped. */
function encodeQueryValue(value: string): string {
  return encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('%2C', ',')
}

function exampleBody(endpoint: Endpoint): Pick<Example, 'contentType' | 'body' | 'file'> {
  const body = describedBody(endpoint)
  const [contentType] = body?.types ?? []
  if (body === undefined || contentType === undefined) return {}
  if (body.kind === 'upload') return { contentType, file: contentType === 'application/xml' ? 'file.xml' : 'list' }
  const fields = Object.fromEntries(exampleFieldsOf(body).map(([name, field]) => [name, fieldValue(name, field)]))
  return { contentType, body: JSON.stringify(fields) }
}

/** Mandatory fields, or else the first one. */
function exampleFieldsOf({ fields }: Body & { readonly kind: 'fields' }): readonly [string, Field][] {
  const all = Object.entries(fields)
  const required = all.filter(([, field]) => field.required !== undefined)
  return required.length > 0 ? required : all.slice(0, 1)
}

/** Returns a body of the v4 contract: its mandatory fields, or else the first one. */
export function exampleFields(body: Body & { readonly kind: 'fields' }): unknown {
  return Object.fromEntries(
    exampleFieldsOf(body).map(([name, { value }]) => [name, value === undefined ? '' : memberValue(name, value)]),
  )
}

function memberValue(name: string, value: Value): unknown {
  switch (value.type) {
    case 'string': {
      const { words, format } = value
      return valueByMember[name] ?? words?.[0] ?? (format === undefined ? name : valueByFormat[format])
    }
    case 'boolean':
      return value.default ?? true
    case 'array':
      return [memberValue(name, value.items)]
    case 'object':
      return (
        valueByMember[name] ??
        Object.fromEntries(
          Object.entries(value.members ?? {})
            .filter(([member]) => !member.endsWith('?'))
            .map(([member, inner]) => [member, memberValue(member, inner)]),
        )
      )
    default:
      return value.default ?? value.minimum ?? 1
  }
}

function fieldValue(name: string, { type, kind, canonical }: Field): unknown {
  if (type === 'integer') return 1
  if (type === 'boolean') return true
  const text = canonical === undefined ? (valueByName[name] ?? valueByKind[kind ?? 'names']) : '001'
  if (name === 'key') return valueByKind.key.repeat(8)
  return type === 'strings' ? [text] : text
}

/**
 * `data` of a successful response by method and path, from the recorded exchanges, with fewer elements and placeholders for
 * secrets, hosts and addresses. `/cluster/:node_id/…` has those of `/manager/…` if it is absent, `/cluster/:node_ids/…` those of
 * one node, reads of all agents those of one agent.
 */
const examples: Readonly<Record<string, unknown>> = recorded

/** Returns the body of a successful response; `undefined` if there is none. */
export function exampleResponse(endpoint: Endpoint): unknown {
  const { method, path, target } = endpoint
  const ofOne =
    target.kind === 'severalNodes' ? target.ofNode : target.kind === 'everyNode' ? target.ofAgent : undefined
  const key = `${method} ${ofOne ?? path}`
  const data = examples[key] ?? examples[key.replace('/cluster/:node_id/', '/manager/')]
  if (data === undefined || ofOne === undefined) return bodyOf(endpoint, data)
  const [first] = itemsOf(data)
  const rest = typeof first === 'object' ? first : { contents: first }
  const added = target.kind === 'everyNode' ? { agent_id: '001' } : { node_name: 'worker-1' }
  return { error: 0, data: { items: [{ ...added, ...rest }], totalItems: 1 } }
}

function bodyOf({ response }: Endpoint, data: unknown): unknown {
  if (data === undefined || response.data === 'document') return data
  return { error: 0, data }
}

/** The items that the edge makes of the response of a node. */
function itemsOf(data: unknown): readonly unknown[] {
  if (Array.isArray(data)) return data
  const items = (data as { items?: readonly unknown[] }).items
  return items ?? [data]
}
