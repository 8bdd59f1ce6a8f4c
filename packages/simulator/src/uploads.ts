/** The checks of an uploaded file that the real API runs before its framework. */
import type { Body } from '../../../src/contracts/endpoint.ts'
import type { ParsedBody } from './bodies.ts'
import { elements, parseXml, type XmlNode } from './data/xml.ts'
import { FrameworkError } from './model.ts'

type Upload = Extract<Body, { kind: 'upload' }>

/** Returns the text of the file. Throws 804 (wrong type), 703 (not XML) or 705 (not a CDB list), all with HTTP 400. */
export function checkUpload(upload: Upload, body: ParsedBody): string {
  const type = upload.types.find((known) => known === body.type)
  if (type === undefined && upload.wrongType === 804) {
    const says = "Content-type should be 'application/xml' or 'application/octet-stream'"
    throw refused(804, `Invalid content-type for this request. ${says}. ${body.type}`)
  }
  if (type === 'application/octet-stream') checkList(body.text)
  else checkXml(body.text)
  return body.text
}

function checkXml(text: string): void {
  let nodes: XmlNode[]
  try {
    nodes = parseXml(text)
  } catch (fault) {
    throw refused(703, `Invalid XML file. ${fault instanceof Error ? fault.message : 'Start tag expected'}.`)
  }
  const [first] = nodes.filter((node) => !('text' in node) || node.text.trim() !== '')
  if (elements(nodes).length === 0 || first === undefined || 'text' in first) {
    throw refused(703, 'Invalid XML file. Start tag expected.')
  }
}

/** The last line is not checked, as in the real API. */
function checkList(text: string): void {
  for (const [at, line] of text.split('\n').slice(0, -1).entries()) {
    if (line.trim() === '' || /^[^:]+:[^:]*$/.test(line)) continue
    const says = `Invalid CDB list. Format for CDB list is 'key:value'. Line ${at + 1}: ${line}`
    throw refused(705, says)
  }
}

function refused(code: number, message: string): FrameworkError {
  return new FrameworkError(code, message, 400)
}
