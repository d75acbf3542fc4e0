export * from 'quillet-service';
