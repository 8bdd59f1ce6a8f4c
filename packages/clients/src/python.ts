/** Writes the Python client of a contract: one method per operation of the OpenAPI document, with the standard library only. */
import type { Json } from '../../reference/src/parameters.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: { readonly type?: string }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters: readonly (Parameter & { readonly $ref?: string })[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, unknown>> }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> }
}

const KEYWORDS = new Set([
  'from',
  'global',
  'class',
  'pass',
  'import',
  'in',
  'is',
  'not',
  'and',
  'or',
  'with',
  'as',
  'body',
  'self',
  'type',
])
const TYPES: Readonly<Record<string, string>> = {
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'Sequence[Any]',
}

/** Returns the class of a contract, as lines that follow the runtime of the module. */
export function pythonClass(name: string, base: string, document: Json): string {
  const { paths, components } = document as unknown as Document
  const methods = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => methodOf(method, path, operation, components.parameters)),
  )
  return [
    `class ${name}(${base}):`,
    `    """One method per operation. Each returns the decoded response."""`,
    ...methods,
  ].join('\n')
}

function methodOf(
  method: string,
  path: string,
  operation: Operation,
  shared: Document['components']['parameters'],
): string {
  const { operationId, summary, requestBody } = operation
  const parameters = operation.parameters
    .map((one) => (one.$ref === undefined ? one : shared[one.$ref.split('/').at(-1) ?? '']))
    .filter((one): one is Parameter => one !== undefined && one.in !== 'header' && one.name !== 'pretty')
  const [mandatory, optional] = [parameters.filter(isMandatory), parameters.filter((one) => !isMandatory(one))]
  const types = Object.keys(requestBody?.content ?? {})
  const isJson = types.includes('application/json')
  const body =
    requestBody === undefined
      ? []
      : [`body: ${isJson ? 'Optional[Mapping[str, Any]] = None' : 'Optional[bytes] = None'}`]
  const signature = [
    'self',
    ...mandatory.map((one) => `${argument(one)}: ${typeOf(one)}`),
    ...(optional.length + body.length > 0 ? ['*'] : []),
    ...optional.map((one) => `${argument(one)}: Optional[${typeOf(one)}] = None`),
    ...body,
  ]
  const pairs = (place: string) =>
    parameters.filter((one) => one.in === place).map((one) => `${JSON.stringify(one.name)}: ${argument(one)}`)
  const media = types.includes('application/json') ? 'application/json' : (types[0] ?? '')
  return [
    '',
    `    def ${snake(operationId)}(${signature.join(', ')}) -> Any:`,
    `        """${text(summary)}: ${method.toUpperCase()} ${path}${documented(parameters)}"""`,
    `        return self._call(${JSON.stringify(method.toUpperCase())}, ${JSON.stringify(path)}, {${pairs('path').join(', ')}}, {${pairs('query').join(', ')}}${requestBody === undefined ? '' : `, body, ${JSON.stringify(media)}`})`,
  ].join('\n')
}

function documented(parameters: readonly Parameter[]): string {
  const lines = parameters
    .filter(({ description }) => description)
    .map((one) => `        ${argument(one)}: ${text(one.description ?? '')}`)
  return lines.length === 0 ? '' : `\n\n${lines.join('\n')}\n        `
}

function isMandatory({ in: place, required }: Parameter): boolean {
  return place === 'path' || required === true
}

function typeOf({ schema }: Parameter): string {
  return TYPES[schema.type ?? ''] ?? 'str'
}

function argument({ name }: Parameter): string {
  const own = name.replaceAll(/\W/g, '_')
  return KEYWORDS.has(own) || /^\d/.test(own) ? `${own}_` : own
}

/** `getAgentsByAgentId` → `get_agents_by_agent_id`. */
function snake(id: string): string {
  return id.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
}

function text(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll(/\s+/g, ' ')
}
