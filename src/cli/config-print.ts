/** `manager-edge config print`: the effective settings and where each of them comes from. Secrets are masked. */
import { formats } from '../config/formats.ts'
import { schema } from '../config/schema.ts'
import { formatPath, getIn, listLeaves, type Path, type SchemaNode, schemaAt } from '../config/tree.ts'
import { redactUserInfo } from '../config/validate.ts'
import { isObject } from '../core/values.ts'
import { printJson, printTable } from './output.ts'
import { loadWithOrigins, NO_FILE, printError } from './terminal.ts'

interface ConfigPrintOptions {
  readonly config?: string
  /** Without the settings that have their defaults. */
  readonly changed?: true
  readonly json?: true
}

interface PrintedSetting {
  readonly setting: string
  readonly value: unknown
  /** `default`, a place in the file, or the name of an environment variable. */
  readonly origin: string
}

const MASK = '(secret)'

export async function printConfig({ config: file, changed, json }: ConfigPrintOptions): Promise<void> {
  const loaded = await loadWithOrigins(file)
  if (loaded.file === undefined) printError(NO_FILE)
  const settings = listLeaves(schema).flatMap(({ path, schema: node }): PrintedSetting[] => {
    const value = getIn(loaded.config, path)
    const origin = loaded.originOf(path) ?? fileOrigin(path, node, loaded.originOf) ?? 'default'
    if (value === undefined || (changed && origin === 'default')) return []
    return [{ setting: formatPath(path), value: shownValue(node, value), origin }]
  })
  if (json) return printJson({ settings })
  const columns = [
    { title: 'SETTING', cell: ({ setting }: PrintedSetting) => setting },
    {
      title: 'VALUE',
      cell: ({ value }: PrintedSetting) => (typeof value === 'string' ? value : JSON.stringify(value)),
    },
    { title: 'ORIGIN', cell: ({ origin }: PrintedSetting) => origin },
  ]
  printTable(columns, settings)
}

/** A secret that was read from a file has the origin of the setting that names the file, such as `passwordFile`. */
function fileOrigin(path: Path, { secret }: SchemaNode, originOf: (path: Path) => string | undefined) {
  return secret ? originOf([...path.slice(0, -1), `${path.at(-1)}File`]) : undefined
}

/** Returns durations and sizes as they are written, and a mask for each secret. */
function shownValue(node: SchemaNode, value: unknown): unknown {
  if (node.secret) return MASK
  if (Array.isArray(value)) return value.map((item) => shownValue(node.items ?? {}, item))
  if (isObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return Object.fromEntries(members.map(([key, member]) => [key, shownValue(schemaAt(node, [key]) ?? {}, member)]))
  }
  if (typeof value === 'string') return redactUserInfo(value)
  const { units } = formats[node.format ?? ''] ?? {}
  return typeof value === 'number' && units !== undefined ? withUnit(value, units) : value
}

/** Returns the number with the largest unit of which it is a multiple. */
function withUnit(value: number, units: Readonly<Record<string, number>>): string {
  if (value === 0) return 's' in units ? '0s' : '0B'
  const [unit = '', size = 1] = Object.entries(units).findLast(([, each]) => value % each === 0) ?? []
  return `${value / size}${unit}`
}
