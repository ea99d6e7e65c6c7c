import { givenFieldPath } from '../contract/field-path.ts';
import { type JsonPiece, jsonPieces as listPieces } from '../formats/json-list.ts';
import { employeePath, type Piece } from './reading.ts';

const CENSUS = { list: 'employees', orBare: false, pathOf: employeePath };

/** Cuts a census in JSON into its employees and its organization, whatever their order, as its bytes come. */
export async function* jsonPieces(content: AsyncIterable<Uint8Array>): AsyncGenerator<Piece[]> {
  for await (const pieces of listPieces(content, CENSUS)) yield pieces.map(pieceOf);
}

function pieceOf(piece: JsonPiece): Piece {
  if (piece.kind === 'problem') return piece;
  if (piece.kind === 'element') {
    const { parsed } = piece;
    return parsed.ok
      ? { kind: 'employee', value: parsed.value }
      : { kind: 'unreadable-employee', rule: parsed.reason };
  }
  if (piece.name === 'organization') return { kind: 'organization', value: piece.value };
  const path = givenFieldPath('', piece.name);
  return { kind: 'problem', problem: { path, rule: 'is not a field of the interface' } };
}
