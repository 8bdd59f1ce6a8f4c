/** Response schemas of rules, decoders and CDB lists. */
import { either, integer, list, map, object, ref, type Schema, text } from './schema.ts'

const detail: Schema = either(
  { type: ['string', 'null'] },
  object({ name: text(), 'type?': text() }),
  list(either(text(), object({ name: text(), 'type?': text() }))),
)
const details = map(ref('RulesetDetail'), 'The options of the definition, by name, such as match, regex or parent.')
const file = { file: text('File name.'), path: text('Folder of the file.'), status: text('enabled or disabled.') }
const requirements = (what: string) => list(text(), `Requirements of ${what}.`)

export const rulesetItems = {
  RulesetDetail: detail,
  Rule: object({
    ...file,
    id: integer(),
    description: text(),
    level: integer('0 to 16.'),
    groups: list(text()),
    pci: requirements('PCI DSS'),
    gdpr: requirements('GDPR'),
    hipaa: requirements('HIPAA'),
    'nist-800-53': requirements('NIST 800-53'),
    gpg13: requirements('GPG 13'),
    details,
  }),
  RuleFile: object(file),
  RuleText: text('A group of rules, or a requirement.'),
  Decoder: object({ ...file, name: text(), position: integer('Distinguishes decoders of one name.'), details }),
  DecoderFile: object(file),
  ListContents: object({ path: text(), items: list(object({ key: text(), value: text() })) }),
  ListFile: object({ path: text('Folder of the file.'), name: text() }),
} as const
