/** The v4 contract as an OpenAPI 3.1 document, made from its records. */
import type { Body, Param, V4Endpoint } from '../../../src/contracts/endpoint.ts'
import type { Releases, Value } from '../../../src/contracts/v4/value.ts'
import { documentOf, factsOf, type OpenApiOptions, operationId } from './document.ts'
import { exampleFields } from './example.ts'
import { type Json, type PathTemplate, sentences, UPLOAD_EXAMPLE } from './parameters.ts'
import { sectionOf } from './section.ts'

export function v4OpenApiDocument(records: readonly V4Endpoint[], options: OpenApiOptions): Json {
  return documentOf(records, options, {
    title: 'Manager Edge: the v4 contract',
    introduction: INTRODUCTION,
    security: [{ bearer: [] }],
    noun: 'Operations',
    components,
    operationOf,
  })
}

const INTRODUCTION = `The API of releases 4.x of the manager, as this edge serves it on a port whose contract is \`v4\`.

Log in with a name and a password at \`POST /security/user/authenticate\`. All other operations take the token of its response.
Which operations and parameters there are follows from the release of the manager: see \`x-releases\`.
`

const components: Json = {
  parameters: {
    pretty: flag('pretty', 'Indents the response.'),
    wait_for_complete: flag('wait_for_complete', 'Lifts the time limits for this request.'),
  },
  schemas: {
    Response: {
      type: 'object',
      required: ['error'],
      properties: {
        data: {
          type: 'object',
          description: 'Most operations return affected items. The others return an object with other members.',
          properties: {
            affected_items: { type: 'array' },
            total_affected_items: { type: 'integer' },
            failed_items: { type: 'array', items: { $ref: '#/components/schemas/FailedItem' } },
            total_failed_items: { type: 'integer' },
          },
        },
        message: { type: 'string' },
        error: { type: 'integer', description: '0: all succeeded; 1: none; 2: some.' },
      },
    },
    FailedItem: {
      type: 'object',
      properties: {
        error: { type: 'object', properties: { code: { type: 'integer' }, message: { type: 'string' } } },
        id: { type: 'array' },
      },
    },
    Problem: {
      type: 'object',
      required: ['title', 'detail'],
      properties: {
        title: { type: 'string' },
        detail: { type: 'string' },
        remediation: { type: 'string' },
        error: { type: 'integer', description: 'The code of the manager, or of the edge from 900 to 949.' },
      },
    },
  },
  responses: {
    Problem: {
      description: 'The request was refused, or failed.',
      content: {
        'application/problem+json': {
          schema: { $ref: '#/components/schemas/Problem' },
          example: { title: 'Not Found', detail: '404: Not Found' },
        },
      },
    },
  },
}

function flag(name: string, description: string): Json {
  return { name, in: 'query', description, schema: { type: 'boolean', default: false } }
}

function operationOf(record: V4Endpoint, template: PathTemplate): Json {
  const body = 'body' in record ? record.body : undefined
  const { releases, target, withoutFlags = [], rights } = record
  const isLogIn = target.kind === 'edge' && target.operation === 'logIn'
  const flags = ['pretty', 'wait_for_complete'].filter((name) => !withoutFlags.includes(name))
  return {
    operationId: operationId(record),
    tags: [sectionOf(record)],
    summary: record.summary,
    description: describe(record),
    ...(isLogIn && { security: [{ basic: [] }] }),
    parameters: [
      ...parametersOf(record, template),
      ...flags.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(body && { requestBody: bodyOf(body) }),
    responses: {
      '200': { description: 'Success', content: successOf(record) },
      '4XX': { $ref: '#/components/responses/Problem' },
      '5XX': { $ref: '#/components/responses/Problem' },
    },
    ...(releases && { 'x-releases': releases }),
    ...(rights && { 'x-rights': rights }),
    'x-permission': record.permission,
  }
}

function describe(record: V4Endpoint): string {
  const notes = sentences(
    inReleases(record.releases),
    record.experimental && 'served only if cluster.experimental is on (404 otherwise)',
    record.beyondSeed && 'an operation of the edge; the manager does not have it',
    record.slow && 'may take long',
  )
  return [notes, factsOf(record)].filter((part) => part !== '').join('\n\n')
}

function inReleases({ since, until }: Releases = {}): string | undefined {
  if (since !== undefined && until !== undefined) return `releases ${since} to ${until} only`
  return since === undefined ? until && `releases up to ${until} only` : `since release ${since}`
}

function successOf({ response: { raw } }: V4Endpoint): Json {
  return {
    'application/json': { schema: { $ref: '#/components/schemas/Response' } },
    ...(raw && { [raw.type]: { schema: { type: 'string' } } }),
  }
}

function parametersOf(record: V4Endpoint, { names }: PathTemplate): readonly Json[] {
  const params: Readonly<Record<string, Param>> = record.params
  const path = names.flatMap(({ name, documentName }) => {
    const param = params[name]
    return param ? [parameter(documentName, 'path', param)] : []
  })
  return [...path, ...Object.entries(record.query).map(([name, param]) => parameter(name, 'query', param))]
}

function parameter(name: string, place: 'path' | 'query', { role, value, required }: Param): Json {
  return {
    name,
    in: place,
    description: sentences(role, inReleases(value?.releases)),
    ...((place === 'path' || required !== undefined) && { required: true }),
    ...(value?.type === 'array' && { style: place === 'path' ? 'simple' : 'form', explode: false }),
    schema: value === undefined ? { type: 'string' } : schemaOf(value),
    ...(value?.releases && { 'x-releases': value.releases }),
  }
}

function bodyOf(body: Body): Json {
  const content =
    body.kind === 'upload'
      ? { schema: { type: 'string' }, example: UPLOAD_EXAMPLE }
      : { schema: schemaOfFields(body), example: exampleFields(body) }
  return { required: true, content: Object.fromEntries(body.types.map((type) => [type, content])) }
}

function schemaOfFields({ fields, open }: Extract<Body, { kind: 'fields' }>): Json {
  const named = Object.entries(fields)
  const required = named.filter(([, field]) => field.required !== undefined).map(([name]) => name)
  const schemas = named.map(([name, { value }]) => [name, value === undefined ? {} : schemaOf(value)])
  return {
    type: 'object',
    ...(named.length > 0 && { properties: Object.fromEntries(schemas) }),
    ...(required.length > 0 && { required }),
    ...(!open && { additionalProperties: false }),
  }
}

/** Returns the JSON schema of a value. `format` is one of the manager's own, or one of JSON schema. */
function schemaOf(value: Value): Json {
  const preset = value.default === undefined ? {} : { default: value.default }
  switch (value.type) {
    case 'string': {
      const { words, format, minLength, maxLength } = value
      return {
        type: 'string',
        ...(words && { enum: words }),
        ...(format && { format }),
        ...(minLength !== undefined && { minLength }),
        ...(maxLength !== undefined && { maxLength }),
        ...preset,
      }
    }
    case 'integer':
    case 'number': {
      const { type, minimum, maximum } = value
      return { type, ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }), ...preset }
    }
    case 'boolean':
      return { type: 'boolean', ...preset }
    case 'array': {
      const { items, minItems } = value
      return { type: 'array', items: schemaOf(items), ...(minItems !== undefined && { minItems }) }
    }
    case 'object': {
      const members = Object.entries(value.members ?? {})
      const required = members.map(([name]) => name).filter((name) => !name.endsWith('?'))
      const properties = members.map(([name, member]) => [name.replace('?', ''), schemaOf(member)])
      return {
        type: 'object',
        ...(members.length > 0 && { properties: Object.fromEntries(properties), additionalProperties: false }),
        ...(required.length > 0 && { required }),
      }
    }
  }
}
