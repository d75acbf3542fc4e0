import service from './index.cjs';

export const { Catalogue, QuilletError, checkQuery, run } = service;
