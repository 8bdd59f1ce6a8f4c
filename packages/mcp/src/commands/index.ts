/** The command of this package: what the command line of the edge adds to its own (`src/cli/added-commands.ts`). */
import { Command, Option } from 'commander'
import type { AddedCommands } from '../../../../src/cli/added-commands.ts'
import { addNotes } from '../../../../src/cli/help.ts'
import { parseInteger } from '../../../../src/cli/terminal.ts'
import { addCredentialOptions } from '../../../tools/src/commands/edge-client.ts'
import { contractOption } from '../../../tools/src/commands/index.ts'
import type { McpOptions } from './mcp.ts'

export const commands: AddedCommands['commands'] = () => [mcp()]

function mcp(): Command {
  const command = addCredentialOptions(
    new Command('mcp')
      .description('serve assistants: reads, and if allowed writes, through a running edge (Model Context Protocol)')
      .requiredOption('--url <url>', 'URL of the edge'),
  )
    .addOption(contractOption())
    .addOption(new Option('--transport <name>', 'how assistants connect').choices(['stdio', 'http']).default('stdio'))
    .option('--max-tokens <n>', 'tokens of a result, about; a cursor continues it', parseInteger(100, 1_000_000), 4000)
    .option('--allow-writes', 'offer writes; a person confirms each of them')
    .option('--confirm-within <seconds>', 'time for the confirmation of a write', parseInteger(1, 3600), 120)
    .option('--host <address>', 'with --transport http: the address to listen on', '127.0.0.1')
    .option('--port <n>', 'with --transport http: the port; 0: any', parseInteger(0, 65_535), 55_010)
    .option('--secret-file <file>', 'with --transport http: file with the secret of clients, of 16 characters or more')
    .option('--allow-host <name...>', 'with --transport http: further host names of the server')
    .option('--allow-origin <origin...>', 'with --transport http: origins of pages that may call')
    .action(async (options: McpOptions) => (await import('./mcp.ts')).mcp(options))
  return addNotes(command, {
    exitCodes: '0 when the client has disconnected, 1 if the edge cannot be used, 2 for wrong options',
    examples: [
      'mcp --url https://edge.example:55000 --user assistant --password-file ./password',
      'mcp --url https://edge.example:55000 --token-file ./token --transport http --secret-file ./secret',
    ],
  })
}
