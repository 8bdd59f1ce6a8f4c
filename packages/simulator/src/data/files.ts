/** The files of a node at the start: rules, decoders, CDB lists and the main configuration. */
import { decoderFiles } from './decoder-files.ts'
import { listFiles } from './list-files.ts'
import { mainConfiguration, type NodeIdentity } from './main-configuration.ts'
import { ruleFiles } from './rule-files.ts'

/**
 * Returns a new map of paths, relative to the installation directory, to texts. `node` is the identity of the node in
 * its main configuration.
 */
export function initialFiles(seed: number, node: NodeIdentity = MASTER): Map<string, string> {
  return new Map([...ruleFiles(seed), ...decoderFiles(), ...listFiles(), ['etc/ossec.conf', mainConfiguration(node)]])
}

const MASTER: NodeIdentity = {
  name: 'master',
  type: 'master',
  clusterKey: '9d273b53510fef702b54a92e9cffc82e',
  master: '127.0.0.1',
}
