/**
 * The error messages of the framework, word for word as in a real manager. The text after the colon reaches clients
 * only inside `failed_ids`; elsewhere the API cuts messages there.
 */
import { FrameworkError } from './model.ts'

export const texts = {
  1000: 'Wazuh Internal Error',
  1006: 'File/directory does not exist or there is a problem with the permissions',
  1017: 'Some Wazuh daemons are not ready yet in node',
  1101: 'Requested component does not exist',
  1104: 'Invalid file type',
  1111: 'Remote group file updates are only available for agent.conf',
  1112: 'Empty files are not supported',
  1113: 'XML syntax error',
  1114: 'Wazuh syntax error',
  1116: 'Requested component configuration does not exist',
  1117: 'Unable to connect with component. The component might be disabled.',
  1307: 'Invalid parameters',
  1650: 'Active response - Bad arguments',
  1651: 'Active response - Agent is not active',
  1655: 'Active response - Command not available',
  1701: 'Agent does not exist',
  1703: 'Action not available for Manager (Agent 000)',
  1707: 'Impossible to restart non-active agent',
  1709: 'Too short key size (<64)',
  1710: 'The group does not exist',
  1711: 'The group already exists',
  1712: 'Default group is not removable',
  1716: 'Error upgrading agent',
  1717: 'Cannot upgrade to a version higher than the manager',
  1718: 'Version not available',
  1720: 'Agent disconnected',
  1722: 'Incorrect format for group_id. Characters supported  a-z, A-Z, 0-9, ., _ and -. Max length is 255',
  1723: 'Hash algorithm not available',
  1724: 'Not a valid select field',
  1728: 'Invalid node type',
  1730: 'Node does not exist',
  1731: 'Agent is not eligible for removal',
  1732: 'No agents selected',
  1734: 'Agent does not belong to the specified group',
  1735: 'Agent version is not compatible with this feature',
  1736: 'Error getting all groups',
  1737: 'Maximum number of groups per multigroup is 256',
  1738: 'Agent name is too long. Max length allowed for agent name is 128',
  1739: "Error getting agent's group sync",
  1740: 'Action only available for active agents',
  1745: "Agent only belongs to 'default' and it cannot be unassigned from this group.",
  1746: 'Could not parse current client.keys file',
  1749: 'Downgrading an agent requires the force flag. Use -F to force the downgrade',
  1750: 'Group does not exist or it is empty',
  3012: 'Cluster is not running',
  3021: 'Timeout executing API request',
  3022: 'Unknown node ID',
  9007: 'Duplicated IP',
  9008: 'Duplicated name',
  9011: 'Agent ID not found',
  9012: 'Duplicated ID',
} as const

export type FrameworkCode = keyof typeof texts

/** Returns an error of the framework; `extra` follows after a colon. */
export function refusal(code: FrameworkCode, extra?: string): FrameworkError {
  return new FrameworkError(code, extra === undefined ? texts[code] : `${texts[code]}: ${extra}`)
}
