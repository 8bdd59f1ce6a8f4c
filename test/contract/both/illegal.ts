/** Illegal requests for an endpoint, one for each rule of the contract that a request can break. */
import { bodies } from '../../support/sample-values.ts'
import type { ContractEndpoint, ContractParam } from '../facts.ts'
import {
  alternativesOf,
  type ContractRequest,
  companions,
  isUpload,
  JSON_TYPE,
  type Make,
  mandatoryCode,
  urlOf,
  XML,
} from './plain.ts'
import { illegalFields, illegalFor } from './values.ts'

export function illegalRequests(endpoint: ContractEndpoint, request: Make): ContractRequest[] {
  const query = endpoint.query_params ?? []
  const { names = [], error } = alternativesOf(endpoint) ?? {}
  const none = urlOf(endpoint, Object.fromEntries(names.map((name) => [name, undefined])))
  return [
    ...(error === undefined ? [] : [request(`none of ${names.join(', ')}`, none, { error })]),
    ...query.flatMap((param) => [...illegalValues(endpoint, param, request), ...missing(endpoint, param, request)]),
    ...(endpoint.path_params ?? []).flatMap(({ name, validator }) => {
      const found = illegalFor(validator)
      if (found === undefined) return []
      return [request(`:${name} illegal`, urlOf(endpoint, {}, { [name]: found.value }), { error: found.error })]
    }),
    ...illegalBodies(endpoint, request),
  ]
}

function illegalValues(endpoint: ContractEndpoint, param: ContractParam, request: Make): ContractRequest[] {
  const { name, validator, note = '' } = param
  const urlWith = (value: string) => urlOf(endpoint, { ...companions(name), [name]: value })
  const found = illegalFor(validator)
  const [, zero] = /\b0 -> (\d+)/.exec(note) ?? []
  // Lists have no largest page (docs/contract-decisions.md).
  const [, above] = endpoint.path.startsWith('/lists') ? [] : (/above 1000 -> (\d+)/.exec(note) ?? [])
  return [
    ...(found === undefined ? [] : [request(`?${name} illegal`, urlWith(found.value), { error: found.error })]),
    ...(zero === undefined ? [] : [request(`?${name} of 0`, urlWith('0'), { error: Number(zero) })]),
    ...(above === undefined ? [] : [request(`?${name} above 1000`, urlWith('1001'), { error: Number(above) })]),
  ]
}

function missing(endpoint: ContractEndpoint, { name, note }: ContractParam, request: Make): ContractRequest[] {
  const code = mandatoryCode(note)
  const [, needed] = /^needs (\w+) \(604\)/.exec(note ?? '') ?? []
  const url = urlOf(endpoint, { [name]: undefined })
  return [
    ...(code === undefined ? [] : [request(`?${name} missing`, url, isOfFramework(code) ? {} : { error: code })]),
    ...(needed === undefined
      ? []
      : [request(`?${name} without ${needed}`, urlOf(endpoint, { [name]: 'a' }), { error: 604 })]),
  ]
}

/** The manager reports it itself. */
function isOfFramework(code: number): boolean {
  return code >= 999
}

function illegalBodies(endpoint: ContractEndpoint, request: Make): ContractRequest[] {
  const { body, method } = endpoint
  if (body === undefined) return []
  const url = urlOf(endpoint)
  const withBody = (what: string, error: number, text: string, type = JSON_TYPE) =>
    request(what, url, { error, body: { type, text } })
  if (isUpload(endpoint)) {
    const wrongType = body.content_types.length > 1 ? 804 : 607
    return [
      withBody('a body of another type', wrongType, '{}', JSON_TYPE),
      withBody('a body of an unknown type', 607, 'a', 'text/plain'),
      withBody('a body that is not XML', 703, '<a><b></a>', XML),
    ]
  }
  const fields = bodies[endpoint.id] ?? {}
  return [
    ...body.params.flatMap(({ name, constraint }) => {
      const { [name]: _, ...others } = fields
      const { value, error } = illegalFields[name] ?? { error: 0 }
      return [
        withBody(`body.${name} illegal`, error, JSON.stringify({ ...fields, [name]: value })),
        // The framework reports the missing command.
        ...(constraint.startsWith('mandatory') && name !== 'command'
          ? [withBody(`body.${name} missing`, 604, JSON.stringify(others))]
          : []),
      ]
    }),
    ...(body.unknown_fields === undefined
      ? []
      : [withBody('body.nosuch', 604, JSON.stringify({ ...fields, nosuch: 1 }))]),
    withBody('a body that is not JSON', 614, '{'),
    ...(method === 'POST'
      ? [
          withBody('a body of another type', 607, '<a/>', XML),
          withBody('a body of an unknown type', 607, 'a', 'text/plain'),
        ]
      : []),
  ]
}
