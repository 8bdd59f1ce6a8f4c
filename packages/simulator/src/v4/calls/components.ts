/** The active configuration of the daemons of a node. */

import { clusterSettings } from '../../data/node/cluster-settings.ts'
import { components } from '../../data/node/components.ts'
import { type Daemon, isUsed } from '../../data/node/daemons.ts'
import type { SimNode } from '../../model.ts'
import { type Answer, affected } from '../answers.ts'
import { V4Error } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { CONFIGURATIONS_OF } from './component-names.ts'
import { v4Value } from './component-values.ts'
import { bothOf, ofNode } from './manager.ts'

/** Configurations that only the v4 layout has, or that it shows in another form. Undefined: no items. */
const v4: Readonly<Record<string, ((asked: Asked) => unknown) | undefined>> = {
  'analysis/rule_test': () => ({ rule_test: { enabled: 'yes', threads: 1, max_sessions: 64, session_timeout: 900 } }),
  'analysis/decoders': () => ({ decoders: [] }),
  'analysis/rules': () => ({ rules: [] }),
  'auth/auth': () => ({ auth: registration }),
  'com/logging': () => ({ logging: { plain: 'yes', json: 'no' } }),
  'com/cluster': ({ world, node }) => clusterSettings(world, node),
  'logcollector/socket': undefined,
  'monitor/global': () => ({ monitord: { agents_disconnection_time: 600, agents_disconnection_alert_time: 0 } }),
  'monitor/reports': undefined,
  'request/global': () => ({
    global: { remoted: { agents_disconnection_alert_time: 0, agents_disconnection_time: 600 } },
  }),
  'wazuh-db/internal': () => ({ internal: { wazuh_db: { debug: 0, sock_queue_size: 128 } } }),
  'wazuh-db/wdb': () => ({
    wdb: { backup: [{ database: 'global', enabled: true, interval: 86_400, max_files: 3 }] },
  }),
}

const registration = {
  port: 1515,
  disabled: 'no',
  remote_enrollment: 'yes',
  ipv6: 'no',
  use_source_ip: 'no',
  purge: 'yes',
  use_password: 'no',
  ssl_verify_host: 'no',
  ssl_auto_negotiate: 'no',
  ciphers: 'HIGH:!ADH:!EXP:!MD5:!RC4:!3DES:!CAMELLIA:@STRENGTH',
  ssl_manager_cert: 'etc/sslmanager.cert',
  ssl_manager_key: 'etc/sslmanager.key',
  key_request: { enabled: 'no' },
  force: {
    enabled: 'yes',
    key_mismatch: 'yes',
    disconnected_time: { enabled: 'yes', value: 3600 },
    after_registration_time: 3600,
  },
}

/** Registration runs on workers too. */
function runs(daemon: Daemon, { type }: SimNode): boolean {
  return isUsed(daemon, daemon === 'ossec-authd' ? 'master' : type)
}

function activeConfiguration(asked: Asked): Answer {
  const { params, node, world } = asked
  const { component = '', configuration = '' } = params
  // The name of the component since release 5.0.
  const name = component.replace('wazuh-manager-db', 'wazuh-db')
  const valid = CONFIGURATIONS_OF[name] ?? []
  if (!valid.includes(configuration)) {
    const names = valid.map((one) => `'${one}'`).join(', ')
    throw new V4Error(1128, `Valid configuration values for '${name}': {${names}}`)
  }
  return ofNode(() => {
    const known = components[name]
    if (name === 'agent') throw new V4Error(1116, `${name}:${configuration}`)
    if (known !== undefined && !runs(known.daemon, node)) {
      throw new V4Error(1121, `Please verify that the component '${name}' is properly configured`)
    }
    const key = `${name}/${configuration}`
    if (Object.hasOwn(v4, key)) return affected([v4[key]?.(asked)].filter((item) => item !== undefined))
    const v3 = known?.configurations[configuration]?.(node, world)
    const item = v3 === undefined ? undefined : v4Value(key, v3)
    if (item === undefined) throw new V4Error(1116, `${name}:${configuration}`)
    return affected([item])
  })(asked)
}

export const componentCalls: readonly Call[] = bothOf({
  path: '/configuration/{component}/{configuration}',
  texts: {
    all: 'Active configuration was successfully read in specified node',
    some: 'Could not read active configuration in some nodes',
    none: 'Could not read active configuration in specified node',
  },
  run: activeConfiguration,
})
