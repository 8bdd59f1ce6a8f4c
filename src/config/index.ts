/**
 * File + environment → one frozen, validated `Config`. The only reader of the environment.
 */
import { dirname, resolve } from 'node:path'
import type { Static } from 'typebox'
import { cacheRules } from './cache-rules.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { FaultList } from './faults.ts'
import { noFile, readSource } from './file.ts'
import { checkEncryptionKey, checkFiles, checkTraceHeaders, withPasswords } from './named-files.ts'
import { type Listening, rules } from './rules.ts'
import { schema, type settings } from './schema.ts'
import { freeze, isObject, type Path, setIn, withoutNulls } from './tree.ts'
import { interpret, validate } from './validate.ts'

type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T
export type Settings = Frozen<Static<typeof settings>>

/** Every setting, defaults filled in: durations in milliseconds, sizes in bytes, paths absolute, secrets read. */
export type Config = Settings

/** `file`: where they came from, absent where the environment alone made them. */
export type Loaded =
  | { readonly ok: true; readonly config: Config; readonly file?: string }
  | { readonly ok: false; readonly faults: string[] }

/**
 * Reads the settings: `file` (else `EDGE_CONFIG`, else none), and the environment (that of the process) over it. All faults come
 * at once, each one line with its place and what to do; nothing is thrown. A relative path starts from the
 * folder of the file that names it, or from the working directory.
 */
export async function loadConfig(options: { file?: string | undefined; env?: Environment } = {}): Promise<Loaded> {
  const { env = process.env } = options
  const file = options.file ?? env.EDGE_CONFIG
  const source = file === undefined || file === '' ? noFile : await readSource(file)
  const { overrides, faults } = await readEnvironment(env, schema)
  const list = new FaultList(source, overrides)
  list.add(...source.faults, ...faults)
  if (source.faults.length > 0) return { ok: false, faults: list.lines() }

  const tree = withoutNulls(source.tree)
  for (const { path, value } of overrides) setIn(tree, path, value)
  const plain = takeOff(tree)
  for (const { path, says, of } of validate(schema, tree)) list.report(path, says, of)

  const folder = resolve(file === undefined ? '.' : dirname(file))
  const base = (path: Path) => (list.variableOf(path) === undefined ? folder : resolve('.'))
  const config = await judge(interpret(schema, tree, base) as Settings, list, plain)
  const from = file === undefined || file === '' ? {} : { file: resolve(file) }
  return list.empty ? { ok: true, config: freeze(config), ...from } : { ok: false, faults: list.lines() }
}

/** The rules over several settings, and the files that they name. */
async function judge(read: Settings, list: FaultList, plain: ReadonlySet<Listening>): Promise<Settings> {
  const due = [...rules, ...cacheRules].filter((rule) => rule.about.every((path) => list.sound(path)))
  for (const { check } of due) check(read, list.report, { plain, variableOf: list.variableOf })
  await checkFiles(read, list.report)
  await checkEncryptionKey(read, list.report)
  await checkTraceHeaders(read, list.report)
  return withPasswords(read, list)
}

/** `tls: off` says that plain HTTP is meant. It is taken out: without the pair there is no TLS. */
function takeOff(tree: Record<string, unknown>): ReadonlySet<Listening> {
  const off = (['listen', 'operations'] as const).filter((name) => {
    const section = tree[name]
    return isObject(section) && section.tls === 'off' && Reflect.deleteProperty(section, 'tls')
  })
  return new Set(off)
}
