/** Loads the configuration: the file, and the environment over it. The only reader of the environment. */
import { dirname, resolve } from 'node:path'
import { isObject } from '../core/values.ts'
import { checkCertificates } from './certificates.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { FaultList } from './faults.ts'
import { durationFormat } from './formats.ts'
import {
  checkAuditFile,
  checkEncryptionKey,
  checkFiles,
  checkHeaderFile,
  readPasswords,
  warnOfUsers,
} from './named-files.ts'
import { type ListenerName, rules } from './rules.ts'
import { type Config, cacheGroups, MAX_OUTAGE_MS, schema } from './schema.ts'
import { sectionRules } from './section-rules.ts'
import { NO_SOURCE, readConfigFile } from './source.ts'
import { deepFreeze, getIn, type Path, setIn, withoutNulls } from './tree.ts'
import { checkBounds, parseValues, validate } from './validate.ts'

/** `file`: the source; absent if the environment is the only source. */
export type LoadResult =
  | {
      readonly ok: true
      readonly config: Config
      readonly file?: string
      /** The files whose contents are in `config`: the configuration file and files of passwords. */
      readonly files: readonly string[]
      /** Settings that are allowed and probably a mistake, one line each with its place and what to do. */
      readonly warnings: readonly string[]
      /** Returns the place in the file or the environment variable that set this path; `undefined`: it has its default. */
      readonly originOf: (path: Path) => string | undefined
    }
  | { readonly ok: false; readonly faults: string[]; readonly file?: string }

/**
 * Loads `file` (else `EDGE_CONFIG`, else no file) and the environment (that of the process) over it. Returns all
 * faults at once, each as one line with its place and what to do; throws nothing. A relative path starts from the
 * folder of the file that contains it; a path of the environment starts from the working directory.
 */
export async function loadConfig(options: { file?: string | undefined; env?: Environment } = {}): Promise<LoadResult> {
  const { env = process.env } = options
  const file = (options.file ?? env.EDGE_CONFIG) || undefined
  const source = file === undefined ? NO_SOURCE : await readConfigFile(file)
  const { overrides, faults, files: secretFiles } = await readEnvironment(env, schema)
  const list = new FaultList(source.place, overrides)
  list.add(...source.faults, ...faults)
  const from = file === undefined ? {} : { file: resolve(file) }
  if (source.faults.length > 0) return { ok: false, faults: list.lines(), ...from }

  const tree = withoutNulls(source.tree)
  for (const { path, value } of overrides) setIn(tree, path, value)
  // The validation fills in the defaults.
  const before = structuredClone(tree)
  const plainListeners = removeTlsOff(tree)
  spreadOutage(tree)
  for (const { path, message, target } of validate(tree)) list.report(path, message, target)

  const folder = resolve(file === undefined ? '.' : dirname(file))
  const baseOf = (path: Path) => (list.variableOf(path) === undefined ? folder : resolve('.'))
  const config = await checkAll(parseValues(schema, tree, baseOf) as Config, list, plainListeners)
  if (!list.isEmpty) return { ok: false, faults: list.lines(), ...from }
  const warnings = new FaultList(source.place, overrides)
  await warnOfUsers(config, warnings.report)
  const { cluster, cache, operations } = config
  const passwordFiles = [cluster.credentials.passwordFile, cache.redis.passwordFile, operations.signIn.clientSecretFile]
  const files = [from.file, ...secretFiles, ...passwordFiles].filter((each) => each !== undefined)
  const originOf = (path: Path) =>
    getIn(before, path) === undefined ? undefined : (list.variableOf(path) ?? source.place(path).place)
  return { ok: true, config: deepFreeze(config), ...from, files, warnings: warnings.lines(), originOf }
}

/** Applies the rules over several settings, and reads the files that the settings name. */
async function checkAll(config: Config, list: FaultList, plainListeners: ReadonlySet<ListenerName>): Promise<Config> {
  checkBounds(schema, config, list)
  const applicable = [...rules, ...sectionRules].filter(({ paths }) => paths.every((path) => list.isValid(path)))
  for (const { check } of applicable) check(config, list.report, { plainListeners, variableOf: list.variableOf })
  await checkFiles(config, list.report)
  await checkCertificates(config, list)
  await checkAuditFile(config, list.report)
  await checkEncryptionKey(config, list.report)
  await checkHeaderFile(config, list.report)
  return readPasswords(config, list)
}

/** `cache.outage: 8h` means that duration for each group. */
function spreadOutage({ cache }: Record<string, unknown>): void {
  const outage = isObject(cache) ? cache.outage : undefined
  if (typeof outage !== 'string' || !(durationFormat.parse(outage) <= MAX_OUTAGE_MS)) return
  Object.assign(cache as object, { outage: Object.fromEntries(cacheGroups.map((name) => [name, outage])) })
}

/**
 * `tls: off` means plain HTTP on purpose. It is removed from the tree, because no `tls` means no TLS. Programs that write YAML 1.1
 * write `off` as `false`.
 */
function removeTlsOff(tree: Record<string, unknown>): ReadonlySet<ListenerName> {
  const plainListeners = (['listen', 'operations'] as const).filter((name) => {
    const section = tree[name]
    return (
      isObject(section) && (section.tls === 'off' || section.tls === false) && Reflect.deleteProperty(section, 'tls')
    )
  })
  return new Set(plainListeners)
}
