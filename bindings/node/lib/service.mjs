import service from './service.cjs';

export const { Catalogue, QuilletError, checkQuery, run } = service;
