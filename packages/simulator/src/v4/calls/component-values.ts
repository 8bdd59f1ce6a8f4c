/** What daemons of the v4 release report in another form than those of the v3 one. */

type Value = Readonly<Record<string, unknown>>

/** Adds options to the inner object of an answer (`{ client: {…} }`). */
function adding(more: Value, gone: readonly string[] = []): (value: Value) => Value {
  return (value) =>
    Object.fromEntries(
      Object.entries(value).map(([name, inner]) => {
        const rest = Object.entries(inner as Value).filter(([option]) => !gone.includes(option))
        return [name, { ...Object.fromEntries(rest), ...more }]
      }),
    )
}

const ENROLLMENT = {
  enabled: 'no',
  delay_after_enrollment: 20,
  port: 1515,
  ssl_cipher: 'HIGH:!ADH:!EXP:!MD5:!RC4:!3DES:!CAMELLIA:@STRENGTH',
  auto_method: 'no',
}

const SYSCHECK = {
  skip_dev: 'yes',
  skip_sys: 'yes',
  skip_proc: 'yes',
  max_files_per_second: 0,
  file_limit: { enabled: 'yes', entries: 100_000 },
  diff: { disk_quota: { enabled: 'yes', limit: 1_048_576 }, file_size: { enabled: 'yes', limit: 51_200 } },
  synchronization: {
    enabled: 'yes',
    max_interval: 3600,
    interval: 300,
    response_timeout: 30,
    queue_size: 16_384,
    max_eps: 10,
  },
  max_eps: 100,
  process_priority: 10,
  database: 'disk',
}

function v4Syscheck({ syscheck }: Value): Value {
  const { directories = [], ...rest } = syscheck as { readonly directories?: readonly Value[] }
  const limited = directories.map((directory) => ({ ...directory, diff_size_limit: 51_200 }))
  return { syscheck: { ...rest, ...SYSCHECK, directories: limited } }
}

/** Modules of the v3 release that the v4 one has no longer. */
function v4Modules(more: readonly Value[]): (value: Value) => Value {
  return ({ wmodules }) => {
    const found = (wmodules as readonly Value[]).filter((module) => module['open-scap'] === undefined)
    const synchronised = found.map((module) => {
      const { syscollector } = module
      return syscollector === undefined ? module : { syscollector: { ...(syscollector as Value), sync_max_eps: 10 } }
    })
    return { wmodules: [...more, ...synchronised] }
  }
}

const CONTROL = { wazuh_control: { enabled: 'yes' } }

/** By component and configuration; those of agents begin with `agent `. */
const changes: Readonly<Record<string, (value: Value) => Value>> = {
  'analysis/global': adding({ eps: { maximum: 0, timeframe: 0 } }),
  'analysis/active_response': (value) => value,
  'analysis/command': ({ command }) => ({
    command: (command as readonly Value[]).map(({ expect: _, ...rest }) => rest),
  }),
  'com/active-response': adding({}, ['ca_verification']),
  'syscheck/syscheck': v4Syscheck,
  'syscheck/rootcheck': adding({ system_audit: ['etc/rootcheck/system_audit_rcl.txt'] }),
  'wmodules/wmodules': v4Modules([
    { 'agent-upgrade': { enabled: 'yes', max_threads: 8, chunk_size: 512 } },
    { 'task-manager': { enabled: 'yes' } },
  ]),
  'agent agent/client': ({ client }) => {
    const { server, ...rest } = client as { readonly server: readonly Value[] }
    return {
      client: {
        ...rest,
        force_reconnect_interval: 0,
        ip_update_interval: 0,
        server: server.map((one) => ({ ...one, max_retries: 5, retry_interval: 10, protocol: 'tcp' })),
        enrollment: ENROLLMENT,
      },
    }
  },
  'agent com/active-response': adding({}, ['ca_verification']),
  // Without a socket, the answer is empty.
  'agent logcollector/socket': () => ({}),
  'agent syscheck/syscheck': v4Syscheck,
  'agent wmodules/wmodules': v4Modules([
    { 'agent-upgrade': { enabled: 'yes', ca_verification: 'yes', ca_store: ['etc/wpk_root.pem'] } },
    CONTROL,
  ]),
}

/** Returns the value in the form of the v4 release. */
export function v4Value(key: string, value: unknown): unknown {
  return changes[key]?.(value as Value) ?? value
}
