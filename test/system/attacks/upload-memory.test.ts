/** Checking an uploaded file needs little memory besides the file, whatever the file consists of. */
import t from 'tap'
import { checkInThread } from './upload-check.ts'

const FILE_BYTES = 10 * 1024 * 1024
/** Of the thread that checks, besides the file itself: slices of it, and the modules. */
const MAX_HEAP_MB = 32

const filled = (unit: string) => unit.repeat(FILE_BYTES / Buffer.byteLength(unit))
const attributes = (count: number, value: string) =>
  Array.from({ length: count }, (_, index) => `b${index}="${value}"`).join(' ')

const TOO_LONG = 'An attribute is too long'
const FILES: readonly (readonly [what: string, file: () => string, reason?: string])[] = [
  ['many attributes', () => `<a ${attributes(1_000_000, '')}/>`, 'More than 1000 attributes'],
  ['many elements with many attributes', () => filled(`<a ${attributes(900, '')}/>`)],
  ['open elements', () => filled(`<a ${attributes(900, '\n'.repeat(180))}>`), 'unclosed tag'],
  ['long attributes of line ends', () => `<a ${attributes(160, '\n'.repeat(60_000))}/>`],
  ['an attribute of text', () => `<a b="${filled('x')}"/>`, TOO_LONG],
  ['an attribute of line ends', () => `<a b="${filled('\n')}"/>`, TOO_LONG],
  ['an attribute of lines', () => `<a b="${filled('x\r\n')}"/>`, TOO_LONG],
  ['an attribute of entities', () => `<a b="${filled('&lt;')}"/>`, TOO_LONG],
  ['an attribute of characters by number', () => `<a b="${filled('&#9;')}"/>`, TOO_LONG],
  ['entities in front', () => `${filled('&#9;')}<a/>`],
  ['a text of line ends', () => `<a>${filled('\r')}</a>`],
  ['a text of entities', () => `<a>${filled('&lt;')}</a>`],
  ['a comment of line ends', () => `<!--${filled('\r')}--><a></a>`],
  ['a CDATA of line ends', () => `<a><![CDATA[${filled('\r')}]]></a>`],
  ['many elements', () => `<a>${filled('<b/>')}</a>`],
  ['many comments', () => `<a>${filled('<!---->')}</a>`],
]

t.test('checking a file takes little memory, whatever the file consists of', async (t) => {
  for (const [what, file, reason = 'accepted'] of FILES) t.match(await checkInThread(file(), MAX_HEAP_MB), reason, what)
})
